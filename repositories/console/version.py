"""The version that the programs print. Owns one constant; a test keeps it equal to pyproject.toml."""

VERSION = "0.1.0"

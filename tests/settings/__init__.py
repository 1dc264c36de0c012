"""Tests of reading, deriving and documenting settings."""

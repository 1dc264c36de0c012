"""Packs: blocks of chunks, their tables, the files that hold them, and reading them back."""

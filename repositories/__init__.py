"""Repositories: their rows, their secrets and, below `engine`, the backup engine itself."""

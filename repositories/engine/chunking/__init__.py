"""Chunking: where content is cut."""

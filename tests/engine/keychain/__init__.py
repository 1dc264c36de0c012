"""Changes of keys."""

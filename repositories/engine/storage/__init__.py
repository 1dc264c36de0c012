"""Storage: one small interface to a medium, its implementations and the wrappers around them."""

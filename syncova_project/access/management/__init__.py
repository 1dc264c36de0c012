"""Commands of access control for `manage`."""

"""One module for each command of `manage`."""

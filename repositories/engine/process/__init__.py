"""The engine as a child process: one request in, events out, so that a stuck mount can always be killed."""

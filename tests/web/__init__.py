"""Tests of the web process's worker, on real gunicorn processes."""

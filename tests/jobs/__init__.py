"""Tests of jobs: pure policy without a database, rows and the loop on real PostgreSQL."""

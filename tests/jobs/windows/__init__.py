"""Tests of jobs.windows."""

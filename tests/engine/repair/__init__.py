"""Tests of repairs."""

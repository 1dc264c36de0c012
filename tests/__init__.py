"""Tests: they mirror the source."""

"""Tests of copying backups between repositories."""

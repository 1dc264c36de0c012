"""Tests of repositories."""

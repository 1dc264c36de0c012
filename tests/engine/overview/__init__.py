"""Tests of what people are told about a repository."""

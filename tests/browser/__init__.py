"""Tests that look at pages as a person does: with a real browser."""

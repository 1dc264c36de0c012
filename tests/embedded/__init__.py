"""Tests of the embedded servers and of the stack, on real processes."""

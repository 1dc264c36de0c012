"""Tests of the demo: its proof, its private directory, and the whole of it."""

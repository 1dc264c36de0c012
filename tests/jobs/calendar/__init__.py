"""Tests of the calendar: pure, against real zone rules."""

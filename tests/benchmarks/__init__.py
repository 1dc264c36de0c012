"""Measurements, run by `./syncova bench NAME`. They print numbers and assert none: machines differ."""

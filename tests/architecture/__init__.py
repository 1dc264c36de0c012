"""Rules that the code must keep, checked on its syntax trees."""

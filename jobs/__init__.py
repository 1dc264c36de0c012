"""Jobs: what is backed up, where to and when; runs, their states, the calendar and the queue."""

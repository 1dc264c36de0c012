"""Template tags of the pages of jobs."""

"""What a repository holds and who works on it, for people: statistics and sessions. Writes nothing."""

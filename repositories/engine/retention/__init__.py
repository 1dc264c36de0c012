"""What stays and what goes: deletions, holds and tags as they lie in a repository; the pure policy of keep rules."""

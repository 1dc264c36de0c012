"""The bootstrap, run for real in clones of its own; packages are tiny wheels made here, so no network is needed."""

"""A file system in memory, served to the kernel by a process of its own: what other disks do, at will."""

"""Looking into backups without restoring them: find, compare, and take parts out as a stream.

Owns the reading of manifests for people's questions. Writes to no repository and no file system; what it puts out goes
to a function that its caller gives.
"""

"""The file system as a source: walking it by descriptors, leaving out what is not wanted, opening files safely.

Owns every call on the source's names. Opens regular files and directories only, never follows a link below the
root, and knows nothing of repositories.
"""

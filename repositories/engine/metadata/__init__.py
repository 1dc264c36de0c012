"""Attributes of file system objects: reading them exactly and setting them in the order that survives.

Owns owner, mode, ACL, extended attributes and times, on descriptors or on a name in a directory descriptor. Never
follows a link.
"""

"""What a backup describes: entries in pages, streams of extents, and the root that names them.

Owns the manifest part of the format (docs/repository-format.md, "Manifests"). Knows chunk ids only, never where
a chunk lies; reads no file system.
"""

"""The pinned limits of the format, checked before anything is allocated (engine.md, section 2).

Owns numbers only. A limit may be raised by a later format version, never lowered: stored objects must stay readable.
"""

KIB = 1024
MIB = 1024 * KIB

MAX_BLOCK_DECODED = 16 * MIB
MAX_PAGE = 1 * MIB
MAX_ROOT = 64 * KIB
MAX_CHUNKS_PER_PACK = 65_536
MAX_PACK = 256 * MIB
MAX_BLOCK_PART = 24 * MIB  # sealed, with its chunk table and padding
MAX_NAME = 1_024
MAX_SLOTS = 64
MAX_ARGON2_KIB = 1 * MIB  # in KiB: 1 GiB
MAX_ARGON2_ITERATIONS = 64
MAX_ARGON2_LANES = 64
MAX_CLEAR_OBJECT = 64 * KIB
MAX_RECORD = 16 * MIB
MAX_SEGMENT = 256 * MIB
MAX_XATTR = 16 * MIB  # one value
MAX_XATTRS = 64 * MIB  # all values of one entry
MAX_SIZE = 2**63 - 1  # of a file: what file systems count with
MAX_LABEL = 256

"""Codec: compression, padding, framing and sealing. Bytes in, bytes out; no storage."""

"""The format: records, headers, object kinds and names. Bytes in, bytes out; no storage, no keys."""

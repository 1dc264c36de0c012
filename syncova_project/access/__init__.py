"""Access: bearer tokens, audit and idempotency keys; a leaf that every app may import."""

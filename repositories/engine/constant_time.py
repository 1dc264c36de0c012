"""Comparing secrets in a time that tells nothing of them.

The function is the one that the library's `hmac` takes where it has no OpenSSL: `hmac` itself would load a second
OpenSSL beside that of `cryptography`, which costs each process 3 ms and some MiB.
"""

from _operator import _compare_digest as equal

__all__ = ["equal"]

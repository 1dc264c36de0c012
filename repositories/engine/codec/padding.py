"""Padding: how far a payload is lengthened so that its size tells less (`create --padding`).

Owns one pure function: lengths are rounded up so that only the leading bits of a length survive (at most 12 % more).
"""


def padding_for(length: int) -> int:
    """Return the number of bytes to add to `length`: 0 for lengths below 2.

    With e the exponent of the length's highest bit and s the number of bits of e, all but the s leading bits below
    the highest are rounded up. Observers learn O(log log length) bits.
    """
    if length < 2:
        return 0
    exponent = length.bit_length() - 1
    free_bits = exponent - exponent.bit_length()
    if free_bits <= 0:
        return 0
    mask = (1 << free_bits) - 1
    return -length & mask

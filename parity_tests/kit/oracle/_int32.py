"""32-bit arithmetic on Python ints: the one place where wrap-around is spelled out."""

INT_MAX = 2**31 - 1


def wrap(value: int) -> int:
    """The int32 that two's complement leaves of `value`.

    >>> wrap(2**31), wrap(-(2**31) - 1)
    (-2147483648, 2147483647)
    """
    return (value + 2**31) % 2**32 - 2**31

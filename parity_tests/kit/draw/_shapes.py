"""The dimensions that random cases have."""


def _shape(
    weight: int,
    b: int,
    s: int,
    k: int,
    t: int,
    p: int,
    n: int,
    block_size: int,
    vocab_size: int,
    *,
    early_stop: bool = True,
) -> dict[str, int]:
    letters = {"B": b, "S": s, "K": k, "T": t, "P": p, "N": n}
    statics = {"block_size": block_size, "vocab_size": vocab_size, "early_stop": early_stop}
    return {**letters, **statics, "weight": weight}


# The letters, the statics that no letter gives, and `weight`: how many in a hundred cases should have these dimensions.
SHAPES: tuple[dict[str, int], ...] = (
    _shape(17, b=4, s=4, k=3, t=16, p=8, n=17, block_size=4, vocab_size=1000),
    _shape(14, b=8, s=12, k=3, t=24, p=4, n=33, block_size=16, vocab_size=129280, early_stop=False),
    _shape(14, b=8, s=5, k=7, t=96, p=8, n=40, block_size=16, vocab_size=32000),
    _shape(10, b=4, s=6, k=1, t=8, p=16, n=9, block_size=1, vocab_size=2**31 - 1),
    _shape(9, b=8, s=8, k=5, t=48, p=6, n=49, block_size=3, vocab_size=50257, early_stop=False),
    _shape(6, b=1, s=1, k=3, t=6, p=1, n=1, block_size=2**31 - 1, vocab_size=1),
    _shape(6, b=4, s=4, k=0, t=12, p=4, n=5, block_size=4, vocab_size=1000),
    _shape(4, b=0, s=4, k=3, t=8, p=4, n=3, block_size=4, vocab_size=1000),
    _shape(4, b=4, s=0, k=3, t=16, p=0, n=17, block_size=4, vocab_size=1000),
    _shape(4, b=4, s=4, k=1, t=0, p=8, n=9, block_size=4, vocab_size=1000),
    _shape(7, b=64, s=96, k=5, t=256, p=16, n=385, block_size=16, vocab_size=129280),
    _shape(3, b=256, s=256, k=7, t=2048, p=32, n=513, block_size=16, vocab_size=129280),
    _shape(2, b=256, s=200, k=3, t=1536, p=64, n=1025, block_size=128, vocab_size=129280, early_stop=False),
)

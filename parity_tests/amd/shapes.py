"""The shapes of serving that the operations are compiled at, by name."""

from typing import NamedTuple

Dims = dict[str, int]


class Shape(NamedTuple):
    """One bucket of an engine: what it serves, the letters of the contract and the statics that no letter gives."""

    serves: str
    dims: Dims


def _shape(serves: str, b: int, s: int, k: int, t: int, p: int) -> Shape:
    letters = {"B": b, "S": s, "K": k, "T": t, "P": p, "N": b * (k + 1) + 1}
    return Shape(serves, letters | {"block_size": 16, "vocab_size": 129280, "early_stop": True})


SHAPES: dict[str, Shape] = {
    "decode-8": _shape("a few interactive requests", b=8, s=64, k=7, t=64, p=64),
    "decode-64": _shape("a busy replica, every row with its drafts", b=64, s=64, k=7, t=512, p=64),
    "decode-256": _shape("throughput, every row with its drafts", b=256, s=256, k=7, t=2048, p=64),
    "mixed-1024": _shape(
        "decoding among prompt chunks, the most rows compared at once", b=1024, s=1024, k=3, t=8192, p=256
    ),
    "mixed-2048": _shape("the same beyond it, where rows are found by a scan", b=2048, s=2048, k=3, t=16384, p=256),
}

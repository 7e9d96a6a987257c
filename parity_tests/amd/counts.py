"""What the GPU is told to do when a program runs once, counted in what XLA says of the compiled program."""

import re
from collections import Counter
from typing import NamedTuple


class Counts(NamedTuple):
    """Launches of one call by kind; a loop's body counts once, `others` is whatever this file has no name for."""

    kernels: int = 0
    copies: int = 0
    memsets: int = 0
    whiles: int = 0
    branches: int = 0
    custom_calls: int = 0
    host_transfers: int = 0
    others: int = 0


_KINDS = {
    "Kernel": "kernels",
    "CustomKernel": "kernels",
    "Copy": "copies",
    "Memzero": "memsets",
    "Memset32BitValue": "memsets",
    "While": "whiles",
    "Conditional": "branches",
    "CustomCall": "custom_calls",
}
_HOST = re.compile(r"Host|Send|Recv|Infeed|Outfeed")
_THUNK = re.compile(r"^\s*\d+: k(\w+)", re.MULTILINE)
# Memory space 5 is the host's; such a copy is a plain `kCopy` among the thunks.
_COPY_WITH_HOST = re.compile(r"^.*\bS\(5\).* copy(?:-start)?\(", re.MULTILINE)


def count(thunks: str, program: str) -> Counts:
    """The counts of a thunk sequence and the optimised program that it came from, both as XLA prints them."""
    kinds = Counter(_field(kind) for kind in _THUNK.findall(thunks))
    kinds["host_transfers"] += len(_COPY_WITH_HOST.findall(program))
    return Counts(**kinds)


def _field(kind: str) -> str:
    return "host_transfers" if _HOST.search(kind) else _KINDS.get(kind, "others")

"""Every recorded step through every adapter."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from parity_tests.kit.engines import _in_jax, _in_torch
from parity_tests.kit.engines._recorded import Found, Recorded, recorded_steps

_ENGINES: dict[str, tuple[str, Callable[[Recorded], Iterator[Found]]]] = {
    "names of tpu-inference": ("jax", _in_jax.tpu_inference),
    "names of sglang-jax": ("jax", _in_jax.sglang_jax),
    "names of ATOM": ("torch", _in_torch.atom),
    "names of vLLM": ("torch", _in_torch.vllm),
    "names of SGLang": ("torch", _in_torch.sglang),
}

ROWS = tuple(_ENGINES)


def compare(row: str, names: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """For each array of each recorded step, the engine's framework and what differs; nothing if that is not asked for.

    >>> list(compare("names of vLLM", ["jax"]))
    []
    """
    framework, replayed = _ENGINES[row]
    if framework not in names:
        return
    for recorded in recorded_steps():
        for found in replayed(recorded):
            text = _difference(found)
            yield framework, text and f"{row}, {recorded.run.name}, step {recorded.step.number}: {text}"


def _difference(found: Found) -> str | None:
    expected, got = found.expected, np.asarray(found.got)
    if expected.dtype == got.dtype and np.array_equal(expected, got):
        return None
    return f"`{found.name}`: expected {expected.dtype}{expected.tolist()}, got {got.dtype}{got.tolist()}"

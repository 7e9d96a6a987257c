"""Arguments for any operation of the contract, drawn as a serving engine would have them."""

from typing import Any

import jax
import numpy as np

import jax_spec
from parity_tests.kit.calls import build
from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.draw import draw

NAMES = list(OPERATIONS)
SERVING = {"B": 8, "S": 12, "K": 3, "T": 48, "P": 6, "N": 33}
SERVING |= {"block_size": 16, "vocab_size": 1000, "early_stop": True}
PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def arguments(name: str, seed: int = 0, dims: dict[str, int] = SERVING) -> tuple[tuple[Any, ...], dict[str, int]]:
    """The arrays and the statics of one call; another seed gives other values of the same shapes."""
    operation, rng = OPERATIONS[name], np.random.default_rng(seed)
    inputs, static = draw(operation, dims, rng, hostile=False)
    if name == "last_token_indices":
        inputs["offsets"] = np.broadcast_to(inputs["offsets"], dims["B"]).astype(np.int32)
    return tuple(build(argument, inputs[argument.name], jax_spec) for argument in operation.arguments), static


def specs(arrays: Any) -> Any:
    """The shapes and dtypes of the arrays, without their values."""
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), arrays)


def same(left: Any, right: Any) -> bool:
    """Whether two results are equal in structure, dtype, shape and values."""
    pairs = jax.tree.map(lambda a, b: a.dtype == b.dtype and np.array_equal(a, b), left, right)
    return jax.tree.all(pairs)

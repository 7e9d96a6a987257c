"""One artifact of an operation for every platform, for runtimes that know neither Python nor this package."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
from jax import export
from jax.tree_util import keystr, tree_leaves, tree_leaves_with_path, tree_structure, tree_unflatten

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")

Shapes = dict[str, jax.ShapeDtypeStruct]


class ExportedStep(NamedTuple):
    """An operation for one bucket, and the arrays that it takes and gives, in the order of its parameters."""

    serialized: bytes
    """For `jax.export.deserialize`; `call` takes the inputs one by one and returns a tuple of the outputs."""
    stablehlo: bytes
    """The same as portable StableHLO; with several platforms, the first parameter is the index of one, an int32."""
    platforms: tuple[str, ...]
    """Where it can run."""
    inputs: Shapes
    """By name, a field of a NamedTuple as `state.anchor_token_ids`."""
    outputs: Shapes
    """By name; `out` where the result is one array."""


def export_step(
    operation: Callable[..., Any],
    arguments: Sequence[Any],
    statics: Mapping[str, int],
    *,
    platforms: Sequence[str] = PLATFORMS,
) -> ExportedStep:
    """Lowers an operation of this package for several platforms at once, none of which need be there.

    Args:
        operation: one of the jitted functions; a donating one is exported as its plain form.
        arguments: `jax.ShapeDtypeStruct`s or arrays in its order, NamedTuples of them included. A size may be
            symbolic (`jax.export.symbolic_shape`), above all B: then one artifact serves every batch.
        statics: its keyword arguments.
        platforms: names as JAX has them, of `PLATFORMS`: "rocm" is any AMD GPU.

    Returns:
        `ExportedStep`, whose program holds no callback, collective or effect; without symbolic sizes, no custom call.

    Raises:
        ValueError: an argument or a platform does not fit, or a symbolic size decides what the program looks like.

    >>> from jax_spec import assemble_input_ids
    >>> cu, rows = (jax.ShapeDtypeStruct((size,), "int32") for size in (9, 8))
    >>> drafts = jax.ShapeDtypeStruct((8, 3), "int32")
    >>> artifact = export_step(assemble_input_ids, (cu, rows, drafts), {"capacity": 32})
    >>> list(artifact.inputs), artifact.outputs["out"].shape
    (['cu_seqlens_q', 'anchor_token_ids', 'draft_token_ids'], (32,))
    """
    if isinstance(platforms, str) or not platforms or not set(platforms) <= set(PLATFORMS):
        raise ValueError(f"`platforms`: got {platforms!r}, expected one or more of {PLATFORMS}")
    names = inspect.signature(operation).bind(*arguments, **statics).arguments
    structure = tree_structure(tuple(arguments))

    def flat(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        return tuple(tree_leaves(operation(*tree_unflatten(structure, arrays), **statics)))

    inputs = {path: leaf for name, tree in zip(names, arguments, strict=False) for path, leaf in _leaves(name, tree)}
    try:
        exported = export.export(jax.jit(flat), platforms=platforms)(*inputs.values())
    except Exception as error:
        symbolic = [path for path, leaf in inputs.items() if not all(isinstance(size, int) for size in leaf.shape)]
        if not symbolic:
            raise
        # JAX says only that a symbolic size was asked for its value, and not always that.
        reason = f"with sizes that are numbers, or fewer that are not: {error}"
        raise ValueError(f"`{symbolic[0]}`: got shape {inputs[symbolic[0]].shape}, expected one {reason}") from error
    result = jax.eval_shape(lambda *arrays: operation(*arrays, **statics), *arguments)
    return ExportedStep(
        bytes(exported.serialize()),
        exported.mlir_module_serialized,
        exported.platforms,
        inputs,
        dict(_leaves("", result)),
    )


def _leaves(name: str, tree: Any) -> Iterator[tuple[str, jax.ShapeDtypeStruct]]:
    for path, leaf in tree_leaves_with_path(tree):
        parts = [part for part in (name, keystr(path, simple=True, separator=".")) if part]
        yield ".".join(parts) or "out", jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)

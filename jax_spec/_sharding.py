"""Data parallel: every rank runs an operation on its own rows, and no rank hears of another."""

import functools
import inspect
import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, cast

import jax
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec
from jax.tree_util import keystr, tree_map_with_path

from jax_spec._arguments import Operation

P = ParamSpec("P")
R = TypeVar("R")

# One table for all ranks: what the hardware does, not what the rows are.
_WHOLE = frozenset({"sps_table"})


def shard_rows(
    fn: Callable[P, R], mesh: Mesh | AbstractMesh, axis: str | Sequence[str], *, replicated: Sequence[str] = ()
) -> Operation[P, R]:
    """`fn` on every data-parallel rank of a mesh, on the rows of that rank, without a collective.

    Equivalent NumPy, for D ranks and arrays `x, y, ...`:

        parts = [fn(*(np.split(x, D)[rank] for x in arrays), **statics) for rank in range(D)]
        np.concatenate([np.atleast_1d(part) for part in parts])

    Every array holds the ranks' own arrays end to end along its first axis: `cu_seqlens_q` is `[D * (B + 1)]` and
    starts at 0 in each rank; rows, slots and flat positions count from 0 in each. A scalar is every rank's.

    Args:
        fn: an operation of this package, or any function of arrays (and NamedTuples of them) that is composed of them.
        mesh: the mesh, its axes Auto or Explicit.
        axis: the axis over which rows are parallel, or several; along any other, all devices do the same.
        replicated: names of arrays that every rank gets whole; `sps_table` always is.

    Returns:
        A jitted function with the signature of `fn`. Its keyword-only arguments are static and a rank's own: `capacity`
        is that of one rank. A result that is a scalar becomes `[D]`. Place arrays with
        `NamedSharding(mesh, PartitionSpec(axis))`, as the results are; a function whose name ends in `_donated` gives
        up its first argument if that is placed so.

    Raises:
        ValueError: `axis` is no axis of `mesh`, `replicated` no array of `fn`, or an array has no equal parts.

    >>> import jax.numpy as jnp
    >>> import jax_spec
    >>> mesh = jax.make_mesh((1,), ("data",))
    >>> sharded = shard_rows(jax_spec.token_index_bound, mesh, "data")
    >>> sharded(jnp.array([0, 1, 5, 7], jnp.int32)).tolist()
    [6]
    """
    axes = axis_names(mesh, axis)
    spec, ranks = PartitionSpec(axes), rank_count(mesh, axes)
    signature = inspect.signature(fn)
    parameters = signature.parameters
    statics = [name for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]
    whole, arrays = whole_arguments(replicated), [name for name in parameters if name not in statics]
    if not whole <= {*arrays, *_WHOLE}:
        raise ValueError(f"`replicated`: got {replicated!r}, expected names among {arrays}")

    @functools.wraps(fn)
    def sharded(*args: P.args, **kwargs: P.kwargs) -> R:
        given = signature.bind(*args, **kwargs).arguments
        handed = {name: given[name] for name in arrays if name in given}
        specs = tuple(argument_specs(name, value, spec, ranks, whole) for name, value in handed.items())
        placed = _placed(tuple(handed.values()), specs, mesh, axes)

        def rank(*own: Any) -> R:
            bound = inspect.BoundArguments(signature, OrderedDict(given | dict(zip(handed, own, strict=True))))
            return jax.tree.map(lambda leaf: leaf if leaf.ndim else leaf[None], fn(*bound.args, **bound.kwargs))

        return jax.shard_map(rank, mesh=mesh, in_specs=specs, out_specs=spec)(*placed)

    donated = [*parameters][:1] if getattr(fn, "__name__", "").endswith("_donated") else []
    return cast(Operation[P, R], jax.jit(sharded, static_argnames=statics, donate_argnames=donated))


def _placed(arrays: Any, specs: Any, mesh: Mesh | AbstractMesh, axes: tuple[str, ...]) -> Any:
    """The arrays where the ranks want them: along Explicit axes that is said, along Auto ones it follows."""
    types = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    if any(types[name] is not AxisType.Explicit for name in axes):
        return arrays
    return jax.tree.map(lambda leaf, where: jax.reshard(leaf, NamedSharding(mesh, where)), arrays, specs)


def axis_names(mesh: Mesh | AbstractMesh, axis: str | Sequence[str]) -> tuple[str, ...]:
    """The axes over which rows are parallel, if `mesh` has them; else raises `ValueError`."""
    axes = (axis,) if isinstance(axis, str) or not isinstance(axis, Sequence) else tuple(axis)
    if not axes or len(set(axes)) < len(axes) or not set(axes) <= set(mesh.axis_names):
        raise ValueError(f"`axis`: got {axis!r}, expected one or more of the mesh's axes {mesh.axis_names}")
    return axes


def whole_arguments(replicated: Sequence[str]) -> frozenset[str]:
    """The arguments of which every rank has all."""
    return _WHOLE.union((replicated,) if isinstance(replicated, str) else replicated)


def rank_count(mesh: Mesh | AbstractMesh, axes: tuple[str, ...]) -> int:
    """How many ranks share the rows."""
    return math.prod(mesh.shape[name] for name in axes)


def argument_specs(name: str, value: Any, spec: PartitionSpec, ranks: int, whole: frozenset[str] = _WHOLE) -> Any:
    """The specs of one argument's arrays; raises `ValueError` for an array that does not part equally."""

    def one(path: Any, leaf: Any) -> PartitionSpec:
        if name in whole or leaf.ndim == 0:
            return PartitionSpec()
        size, *_ = leaf.shape
        if size % ranks:
            field = keystr(path, simple=True, separator=".")
            said = f"field `{field}` of `{name}`" if field else f"`{name}`"
            wanted = f"the arrays of {ranks} ranks end to end, a first size divisible by {ranks}"
            raise ValueError(f"{said}: got {leaf.dtype.name}{list(leaf.shape)}, expected {wanted}")
        return spec

    return tree_map_with_path(one, value)

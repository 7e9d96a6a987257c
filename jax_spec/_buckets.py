"""Buckets: the few capacities that programs are compiled for, which of them a step takes, and compiling them ahead."""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple, get_args

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jax_spec._arguments import LARGEST, LETTERS
from jax_spec._sharding import argument_specs, axis_names, rank_count, whole_arguments


class StepShapes(NamedTuple):
    """One call without its values; from `step_shapes`, or made by hand for a function of one's own."""

    arguments: tuple[Any, ...]
    """`jax.ShapeDtypeStruct`s or arrays in the order of the parameters, NamedTuples of them included."""
    statics: dict[str, int]
    """Keyword arguments."""


def bucket_ladder(smallest: int, largest: int, *, step: int | None = None) -> list[int]:
    """Capacities that double from the smallest to the largest, or grow by `step` from there on.

    Equivalent Python:

        ladder = [smallest]
        while ladder[-1] < largest:
            last = ladder[-1]
            ladder.append(min(2 * last if step is None or last < step else last // step * step + step, largest))

    Args:
        smallest: the first capacity, in tokens a rank, at least 1.
        largest: the last one: what the step's buffer holds, whether doubling meets it or not.
        step: once an entry has reached it, the next ones are its multiples; None to double all the way.

    Returns:
        The capacities, rising.

    Raises:
        ValueError: an argument is no int of at least 1, or `smallest` is above `largest`.

    >>> bucket_ladder(64, 320), bucket_ladder(16, 100, step=32)
    ([64, 128, 256, 320], [16, 32, 64, 96, 100])
    """
    _check_int("largest", largest, 1)
    _check_int("smallest", smallest, 1, largest, limit=" (`largest`)")
    if step is not None:
        _check_int("step", step, 1)
    ladder = [smallest]
    while ladder[-1] < largest:
        last = ladder[-1]
        following = 2 * last if step is None or last < step else (last // step + 1) * step
        ladder.append(min(following, largest))
    return ladder


def pick_bucket(ladder: Sequence[int], totals: Sequence[int], *, multiple_of: int = 1) -> int:
    """The smallest capacity that holds the largest total: every data-parallel rank must run the same shape.

    Equivalent Python:

        min(entry for entry in ladder if entry % multiple_of == 0 and entry >= max(totals, default=0))

    Where lengths live on the device, give what they can't exceed: the tokens of prompt chunks, which the host knows,
    and `K + 1` for each row that decodes.

    Args:
        ladder: capacities in any order, as from `bucket_ladder`.
        totals: tokens of this step, one for each rank; none counts as 0.
        multiple_of: what the capacity must be divisible by.

    Returns:
        An entry of `ladder`.

    Raises:
        ValueError: no entry holds the largest total, or something is no int, a bool or NumPy integer included.

    >>> pick_bucket([4, 8, 12, 16], [7, 10], multiple_of=3)
    12
    """
    _check_int("multiple_of", multiple_of, 1)
    entries, sizes = _integers("ladder", ladder), _integers("totals", totals)
    fitting = [entry for entry in entries if entry % multiple_of == 0]
    divisible = f" that is divisible by {multiple_of} (`multiple_of`)" if fitting != entries else ""
    total = max(sizes, default=0)
    if not fitting:
        wanted = f"an entry{divisible} of at least {total}, the largest of `totals`: add one"
        raise ValueError(f"`ladder`: got {entries}, expected {wanted}")
    if total > max(fitting):
        got = f"{total} at index {sizes.index(total)}"
        limit = f"{max(fitting)}, the largest of `ladder` = {entries}{divisible}"
        raise ValueError(f"`totals`: got {got}, expected at most {limit}: schedule fewer tokens or add a larger bucket")
    return min(entry for entry in fitting if entry >= total)


def step_shapes(
    operation: Callable[..., Any],
    sizes: Mapping[str, int],
    *,
    mesh: Mesh | None = None,
    axis: str | Sequence[str] = (),
    replicated: Sequence[str] = (),
) -> StepShapes:
    """What an operation of this package is called with, for a compile manager: shapes, dtypes, shardings, statics.

    Args:
        operation: one of the jitted functions, or what `shard_rows` made of it.
        sizes: the letters that it needs of B, S, K, T, P and N, and its other statics by name, which goes before the
            letter; what it does not need is ignored, so one mapping serves a whole step.
        mesh: for `shard_rows(operation, mesh, axis)`: `sizes` are a rank's, the arrays hold all ranks end to end.
        axis: the axis of `mesh`, or several.
        replicated: as `shard_rows` has it.

    Returns:
        `StepShapes`: `operation.lower(*shapes.arguments, **shapes.statics).compile()` is the program.

    Raises:
        ValueError: a size is missing or negative, or an array may have any shape.

    >>> import jax_spec
    >>> sizes = {"B": 8, "S": 12, "K": 3, "T": 64}
    >>> shapes = step_shapes(jax_spec.assemble_input_ids, sizes)
    >>> shapes.arguments[2].shape, shapes.statics
    ((8, 3), {'capacity': 64})
    """
    parameters = inspect.signature(operation).parameters.values()
    statics, arguments = {}, []
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY:
            letter = parameter.name if parameter.name in sizes else LETTERS.get(parameter.name, parameter.name)
            if letter in sizes or parameter.default is parameter.empty:
                statics[parameter.name] = _size(parameter.name, letter, sizes)
            continue
        tree = _struct(parameter.name, parameter.annotation, sizes)
        arguments.append(tree if mesh is None else _laid_out(parameter.name, tree, mesh, axis, replicated))
    return StepShapes(tuple(arguments), statics)


def precompile(
    operations: Sequence[Callable[..., Any]],
    ladder: Sequence[int],
    shapes: Callable[[Any, int], StepShapes],
    *,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    compiler_options: Mapping[str, Any] | None = None,
) -> dict[tuple[str, int], jax.stages.Compiled]:
    """Compiles operations for every bucket before serving, several at a time; afterwards nothing is compiled.

    Args:
        operations: jitted functions: of this package, from `shard_rows`, or a stack's own, each with another name.
        ladder: the buckets.
        shapes: what an operation is called with in a bucket, by `step_shapes` or by hand.
        workers: compilations at once; None for one a core. Tracing stays in the calling thread.
        progress: called with how many of how many are compiled, in the calling thread.
        compiler_options: for XLA, as `jax.stages.Lowered.compile` takes them.

    Returns:
        The programs by name of the operation and bucket. A program takes the arrays alone, in order, and refuses what
        it was not compiled for. Without `compiler_options`, the operations themselves compile nothing either, if their
        arrays lie where the shapes say: for those that are committed to a device (`jax.device_put`, and what was
        computed from them) give the shapes that `sharding`; placed nowhere, they stand for uncommitted ones.

    Raises:
        ValueError: two operations have one name, or an argument does not fit.

    >>> import jax.numpy as jnp
    >>> import jax_spec
    >>> sizes = {"B": 2, "S": 2, "K": 1}
    >>> programs = precompile([jax_spec.token_rows], [4, 8], lambda f, bucket: step_shapes(f, sizes | {"T": bucket}))
    >>> programs["token_rows", 8](jnp.array([0, 2, 3], jnp.int32)).row.tolist()
    [0, 0, 1, 2, 2, 2, 2, 2]
    """
    names = [getattr(operation, "__name__", repr(operation)) for operation in operations]
    if len(set(names)) < len(names):
        raise ValueError(f"`operations`: got {names}, expected each name once")
    options = None if compiler_options is None else dict(compiler_options)
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        # Lowered here: a thread would not see `jax.set_mesh` and the like, and a trace without it is another trace.
        jobs = {
            pool.submit(_lowered(operation, shapes(operation, bucket)).compile, options): (name, bucket)
            for name, operation in zip(names, operations, strict=True)
            for bucket in dict.fromkeys(ladder)
        }
        for done, job in enumerate(as_completed(jobs), 1):
            job.result()
            if progress is not None:
                progress(done, len(jobs))
    return {key: job.result() for job, key in jobs.items()}


def _lowered(operation: Any, shapes: StepShapes) -> jax.stages.Lowered:
    return operation.lower(*shapes.arguments, **shapes.statics)


def _laid_out(name: str, tree: Any, mesh: Mesh, axis: str | Sequence[str], replicated: Sequence[str]) -> Any:
    """The arrays of all ranks end to end, of which `tree` is one rank's."""
    axes = axis_names(mesh, axis)
    spec, ranks = PartitionSpec(axes), rank_count(mesh, axes)

    def one(leaf: jax.ShapeDtypeStruct, where: Any) -> jax.ShapeDtypeStruct:
        shape = (leaf.shape[0] * ranks, *leaf.shape[1:]) if where == spec else leaf.shape
        return jax.ShapeDtypeStruct(shape, leaf.dtype, sharding=NamedSharding(mesh, where))

    return jax.tree.map(one, tree, argument_specs(name, tree, spec, 1, whole_arguments(replicated)))


def _struct(name: str, annotation: Any, sizes: Mapping[str, int]) -> Any:
    """The array that an annotation tells of, the first where it tells of several, or the NamedTuple of arrays."""
    if hasattr(annotation, "_fields"):
        return annotation(*(_struct(name, inner, sizes) for inner in annotation.__annotations__.values()))
    annotation = next(iter(get_args(annotation)), annotation)
    if not hasattr(annotation, "dim_str") or "..." in annotation.dim_str:
        raise ValueError(f"`operation`: got one whose `{name}` may have any shape, expected shapes made of letters")
    shape = tuple(_length(name, letter, sizes) for letter in annotation.dim_str.split())
    return jax.ShapeDtypeStruct(shape, annotation.dtypes[0])


def _length(name: str, letter: str, sizes: Mapping[str, int]) -> int:
    """What a letter of the shapes stands for: a size, one more, or as many for each row."""
    first = _size(name, letter[0], sizes)
    match letter[1:]:
        case "":
            return first
        case "1":
            return first + 1
        case "K":
            return first * _size(name, "K", sizes)
    return first * (_size(name, "K", sizes) + 1)


def _size(name: str, letter: str, sizes: Mapping[str, int]) -> int:
    if letter not in sizes:
        raise ValueError(f"`sizes`: got {sorted(sizes)}, expected {letter!r} among them, for `{name}`")
    if letter.isupper():
        _check_int("sizes", sizes[letter], 0, where=f" for {letter!r}")
    return sizes[letter]


def _check_int(name: str, value: object, least: int, most: int = LARGEST, *, limit: str = "", where: str = "") -> None:
    if type(value) is not int or not least <= value <= most:
        got = f"{value!r} ({type(value).__name__}){where}"
        raise ValueError(f"`{name}`: got {got}, expected an int from {least} to {most}{limit}")


def _integers(name: str, values: Iterable[int]) -> list[int]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ValueError(f"`{name}`: got {values!r} ({type(values).__name__}), expected a sequence of ints")
    entries = list(values)
    for index, entry in enumerate(entries):
        _check_int(name, entry, 0, where=f" at index {index}")
    return entries

"""Checks of dtype, rank, shape and statics when an operation is traced, read from its annotations."""

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar, cast, get_args, runtime_checkable

import jax

P = ParamSpec("P")
R = TypeVar("R", covariant=True)

Sizes = dict[str, int]

LARGEST = 2**31 - 1
_LEAST = {"capacity": 0, "num_speculative_tokens": 0, "num_slots": 0, "block_size": 1, "vocab_size": 1}
# The letters of the shapes that are given as statics.
LETTERS = {"capacity": "T", "num_speculative_tokens": "K"}
_SHOWN = {"B1": "B + 1", "BK": "B * K", "BL": "B * (K + 1)", "N": "N >= 1"}


@runtime_checkable
class Operation(Protocol[P, R]):
    """A jitted function: what `jax.jit` returns, with the signature kept for type checkers."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs the operation on the device."""
        ...

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> jax.stages.Lowered:
        """Lowers it for these arguments, to be compiled ahead of time."""
        ...

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> jax.stages.Traced:
        """Traces it for these arguments, to be lowered for any platform."""
        ...


def operation(*statics: str, donates: str | None = None) -> Callable[[Callable[P, R]], Operation[P, R]]:
    """Jits a function whose keyword arguments `statics` are Python ints or bools, the others being arrays.

    Whenever it is traced, each argument is held to its annotation, a letter meaning the same size throughout; a misfit
    is a `ValueError` that names the argument. The buffers of the argument `donates` are given up to the result.
    """

    def decorate(function: Callable[P, R]) -> Operation[P, R]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            arguments, sizes = bound.arguments, Sizes()
            for name in statics:
                value = arguments.pop(name)
                if signature.parameters[name].annotation is bool:
                    _check_switch(name, value)
                else:
                    sizes[LETTERS.get(name, name)] = check_static(name, value)
            for name, value in arguments.items():
                _check((name,), value, signature.parameters[name].annotation, sizes)
            _check_positions(sizes)
            return function(*args, **kwargs)

        return cast(Operation[P, R], jax.jit(checked, static_argnames=statics, donate_argnames=donates))

    return decorate


def check_static(name: str, value: object) -> int:
    """`value`, if it is a Python int in the range of the static `name`; else raises `ValueError`."""
    least = _LEAST[name]
    if type(value) is int and least <= value <= LARGEST:
        return value
    raise ValueError(f"`{name}`: got {value!r} ({type(value).__name__}), expected an int from {least} to {LARGEST}")


def _check_switch(name: str, value: object) -> None:
    if type(value) is not bool:
        raise ValueError(f"`{name}`: got {value!r} ({type(value).__name__}), expected True or False")


def _check(path: tuple[str, ...], value: Any, annotation: Any, sizes: Sizes) -> None:
    """Holds `value` to `annotation`, and notes in `sizes` what its letters stand for."""
    if hasattr(annotation, "_fields"):
        if not isinstance(value, annotation):
            raise ValueError(f"{_named(path)}: got {_seen(value)}, expected a {annotation.__name__}")
        for field, inner in annotation.__annotations__.items():
            _check((*path, field), getattr(value, field), inner, sizes)
        return
    alternatives = get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    if not any(_fits(value, alternative, sizes) for alternative in alternatives):
        expected = " or ".join(_expected(alternative, sizes) for alternative in alternatives)
        raise ValueError(f"{_named(path)}: got {_seen(value)}, expected {expected}")


def _fits(value: Any, annotation: Any, sizes: Sizes) -> bool:
    if not isinstance(value, jax.Array) or value.dtype.name not in annotation.dtypes:
        return False
    if annotation.dim_str == "...":
        return not _is_number(value)
    letters = annotation.dim_str.split()
    if len(letters) != value.ndim or _is_number(value):
        return False
    return all(_solve(letter, size, sizes) for letter, size in zip(letters, value.shape, strict=True))


def _solve(letter: str, size: int, sizes: Sizes) -> bool:
    """Whether `letter` may stand for `size`; a letter not met before is noted."""
    if letter == "B1":
        return size >= 1 and _solve("B", size - 1, sizes)
    if letter == "N" and size == 0:
        return False
    if letter in ("BK", "BL"):
        columns = 1 if letter == "BL" else 0
        per_row = size // sizes["B"] if sizes["B"] else columns
        sizes.setdefault("K", per_row - columns)
        return sizes["K"] >= 0 and size == sizes["B"] * (sizes["K"] + columns)
    return sizes.setdefault(letter, size) == size


def _is_number(value: jax.Array) -> bool:
    """Whether this is a Python number: weakly typed, as are some scalars, and traced apart from arrays."""
    return value.ndim == 0 and value.aval.weak_type


def _check_positions(sizes: Sizes) -> None:
    positions = sizes.get("P", 0) * sizes.get("block_size", 0)
    if positions > LARGEST:
        got = f"{sizes['block_size']} with {sizes['P']} columns of `block_tables`"
        raise ValueError(f"`block_size`: got {got}, {positions} positions, expected at most {LARGEST}")


def _named(path: tuple[str, ...]) -> str:
    *owners, name = path
    return f"field `{name}` of `{'.'.join(owners)}`" if owners else f"`{name}`"


def _seen(value: Any) -> str:
    if not isinstance(value, jax.Array):
        return type(value).__name__
    if _is_number(value):
        return f"a Python number or weakly typed scalar ({value.dtype.name}; `jnp.{value.dtype.name}(x)` has a type)"
    return f"{value.dtype.name}{list(value.shape)}"


def _expected(annotation: Any, sizes: Sizes) -> str:
    letters: list[str] = annotation.dim_str.split()
    shape = ", ".join(_SHOWN.get(letter, letter) for letter in letters)
    known = ", ".join(f"{letter} = {sizes[letter]}" for letter in "BSKTP" if letter in shape and letter in sizes)
    return f"{annotation.dtypes[0]}[{shape}]" + (f" with {known}" if known else "")

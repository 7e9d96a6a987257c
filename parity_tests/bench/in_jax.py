"""The ways to run a row in JAX, and the floor: a call that takes the same arguments and does nothing with them."""

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter_ns
from typing import Any

import numpy as np

from parity_tests.bench.cases import STEP
from parity_tests.bench.device import device_ns
from parity_tests.bench.variants import FLOOR, JAX, JAX_AOT, JAX_DONATED, Variant, arguments, finder, found, twin
from parity_tests.kit.calls import as_tree
from parity_tests.kit.cases import Case
from parity_tests.kit.contract import Operation
from parity_tests.kit.subjects import Library
from parity_tests.kit.trees import Tree, map_leaves


def offered(operation: Operation) -> list[str]:
    """The names of the ways to run an operation."""
    import jax_spec

    if found(operation, finder(jax_spec)) is None:
        return []
    return [FLOOR, JAX, JAX_AOT, *([JAX_DONATED] if operation is STEP or twin(operation) else [])]


def variants(case: Case, operation: Operation, names: list[str]) -> Iterator[Variant]:
    """Our own functions. Nothing is known to the caches of JAX when they are lowered and compiled here."""
    import jax

    import jax_spec

    jax.clear_caches()
    function, donating = functions(operation, jax_spec)
    values = arguments(operation, _put(case.inputs), jax_spec)
    lowered, lower_ns = clocked(function.lower, *values, **case.static)
    compiled, compile_ns = clocked(lowered.compile)
    plain = partial(function, *values, **case.static)
    if FLOOR in names:
        yield _variant(FLOOR, partial(floor(jax.eval_shape(plain)), *values))
    if JAX in names:
        spent = {"lower_ns": lower_ns, "compile_ns": compile_ns, "device_ns": device_ns(plain)}
        yield _variant(JAX, plain)._replace(facts={"tokens": _tokens(case), **spent, **_memory(compiled)})
    if JAX_AOT in names:
        yield _variant(JAX_AOT, partial(compiled, *values))
    if donating and JAX_DONATED in names:
        launch = partial(donating, **case.static)
        yield _variant(JAX_DONATED, launch)._replace(fresh=partial(_with_a_copy, values, _donated(operation)))


def outside(name: str, library: Library, case: Case, operation: Operation) -> Variant:
    """Somebody's function of JAX, called as ours are."""
    import jax

    function = found(operation, library.find)
    assert function is not None, "a variant is made of what is offered"
    placed = _put(case.inputs)
    values = arguments(operation, placed, library.types)
    called = jax.jit(function, static_argnames=tuple(case.static)) if operation is STEP else function
    return _variant(name, partial(called, *values, **case.static))._replace(held=partial(_held, placed))


def floor(shapes: Any) -> Any:
    """A jitted function of any arguments, each of which is handed over, that gives zeros of those shapes."""
    import jax
    import jax.numpy as jnp

    def zeros(*_: Any) -> Any:
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

    return jax.jit(zeros, keep_unused=True)


def clocked(function: Callable[..., Any], *given: Any, **static: Any) -> tuple[Any, int]:
    """A result and the nanoseconds that it took."""
    start = perf_counter_ns()
    result = function(*given, **static)
    return result, perf_counter_ns() - start


def functions(operation: Operation, package: Any) -> tuple[Any, Callable[..., Any] | None]:
    """The function of an operation, and its donating form; the whole step is one call, as in a caller's `jit`."""
    import jax

    function = found(operation, finder(package))
    if operation is not STEP:
        return function, getattr(package, twin(operation), None) if twin(operation) else None
    assert function is not None, "a variant is made of what is offered"
    static = tuple(entry.name for entry in operation.statics)
    plain = jax.jit(function, static_argnames=static)
    return plain, jax.jit(function, static_argnames=static, donate_argnums=_donated(operation))


def _donated(operation: Operation) -> int:
    """The place of the argument that is given up: the twin's, or that of the whole step."""
    from parity_tests.kit.contract import OPERATIONS

    owner = operation if operation is STEP else OPERATIONS[twin(operation)]
    return [argument.name for argument in owner.arguments].index(owner.donates)


def _with_a_copy(values: tuple, place: int) -> tuple:
    import jax

    copied = jax.block_until_ready(jax.tree.map(lambda leaf: leaf.copy(), values[place]))
    return (*values[:place], copied, *values[place + 1 :])


def _variant(name: str, launch: Callable[..., Any]) -> Variant:
    import jax

    def call(*given: Any) -> Any:
        return jax.block_until_ready(launch(*given))

    return Variant(name, call, _read, launch=launch)


def _read(result: Any) -> Tree:
    return as_tree(result, lambda leaf: np.asarray(leaf) if hasattr(leaf, "__array__") else leaf)


def _put(inputs: Tree) -> Tree:
    import jax.numpy as jnp

    # A copy on the device: what JAX shares with NumPy can't be donated.
    return map_leaves(lambda _, leaf: jnp.array(leaf), inputs)


def _held(placed: Tree) -> Tree:
    # An array keeps what NumPy once saw of it: a copy has nothing to show yet.
    return map_leaves(lambda _, leaf: np.asarray(leaf.copy()), placed)


def _tokens(case: Case) -> int | None:
    """The tokens of the step, where the operation is told."""
    ends = case.inputs.get("cu_seqlens_q")
    return None if ends is None else int(ends[-1])


def _memory(compiled: Any) -> dict[str, int | None]:
    memory = compiled.memory_analysis()
    if memory is None:
        return {"temporary_bytes": None, "output_bytes": None}
    return {"temporary_bytes": memory.temp_size_in_bytes, "output_bytes": memory.output_size_in_bytes}

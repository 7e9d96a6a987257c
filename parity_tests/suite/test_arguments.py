"""What an operation may do with its arguments: read them. A donating form owns the one argument that it names."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from parity_tests.kit import vectors
from parity_tests.kit.calls import invoke
from parity_tests.kit.contract import OPERATIONS, Array, Record
from parity_tests.kit.subjects import Library, Subject
from parity_tests.kit.trees import Tree, leaves, map_leaves

VALID = {case.op: case for case in reversed(vectors.load()) if case.fault is None}
PLAIN = [name for name, operation in OPERATIONS.items() if not operation.donates]
DONATING = [name for name, operation in OPERATIONS.items() if operation.donates]
STATICS = [(name, static.name) for name, operation in OPERATIONS.items() for static in operation.statics]


@pytest.mark.parametrize("name", PLAIN)
def test_plain_form_gives_nothing_up(caller: Subject, name: str) -> None:
    given = on_device(caller, VALID[name].inputs)
    result = called(caller, name, given)
    assert not any(is_given_up(array) for _, array in leaves(given))
    # JAX may hand an argument through, as nobody can write into it; a tensor of our reference must be the caller's own.
    if library_of(caller).framework == "torch" and not caller.outside:
        assert not {address(array) for _, array in leaves(given)} & {address(array) for array in flat(result)}


@pytest.mark.parametrize("name", DONATING)
def test_donating_form_writes_into_its_argument(caller: Subject, name: str) -> None:
    given = on_device(caller, VALID[name].inputs)
    donated = OPERATIONS[name].donates
    owned = {path: address(array) for path, array in leaves(given) if path.split(".")[0] == donated}
    result = called(caller, name, given)
    assert set(owned.values()) <= {address(array) for array in flat(result)}
    if library_of(caller).framework == "jax":
        assert {path for path, array in leaves(given) if is_given_up(array)} == set(owned)


@pytest.mark.parametrize("name", OPERATIONS)
def test_results_are_the_tuples_of_the_contract(caller: Subject, name: str) -> None:
    result = called(caller, name, on_device(caller, VALID[name].inputs))
    # Elsewhere a NamedTuple of the same fields will do.
    assert_is(result, OPERATIONS[name].result, None if caller.outside else library_of(caller).types)


@pytest.mark.faults
@pytest.mark.parametrize(("name", "static"), STATICS)
def test_numpy_integer_is_no_static(caller: Subject, name: str, static: str) -> None:
    # A value that no other test has: to a cache it would equal the Python int.
    odd = VALID[name].static | {static: np.int64(1013)}
    with pytest.raises(ValueError, match=f"`{static}`"):
        called(caller, name, on_device(caller, VALID[name].inputs), odd)


def library_of(caller: Subject) -> Library:
    assert caller.functions is not None
    return caller.functions


def on_device(caller: Subject, inputs: Tree) -> Tree:
    """Arrays of the framework that share nothing with the NumPy ones."""
    library = library_of(caller)
    if library.framework == "jax":
        import jax.numpy as jnp

        # JAX may leave an array where NumPy has it, and could then not give it up; `copy` runs on the device.
        return map_leaves(lambda _, leaf: jnp.copy(leaf), inputs)
    from parity_tests.kit.torch_subject import tensor_of

    return map_leaves(lambda _, leaf: tensor_of(leaf.copy(), library.device), inputs)


def called(caller: Subject, name: str, given: Tree, static: dict[str, Any] | None = None) -> Any:
    library = library_of(caller)
    function = library.find(name)
    assert function is not None
    try:
        return invoke(function, OPERATIONS[name], given, static or VALID[name].static, library.types)
    except NotImplementedError as error:
        if not caller.outside:
            raise
        pytest.skip(f"not implemented: {error}")


def flat(result: Any) -> Iterator[Any]:
    if hasattr(result, "_fields"):
        for field in result:
            yield from flat(field)
    else:
        yield result


def address(array: Any) -> int:
    return array.untyped_storage().data_ptr() if hasattr(array, "untyped_storage") else array.unsafe_buffer_pointer()


def is_given_up(array: Any) -> bool:
    return hasattr(array, "is_deleted") and array.is_deleted()


def assert_is(result: Any, expected: Array | Record | None, types: Any) -> None:
    if isinstance(expected, Record):
        assert types is None or type(result) is getattr(types, expected.type)
        assert result._fields == tuple(field.name for field in expected.fields)
        for value, field in zip(result, expected.fields, strict=True):
            assert_is(value, field, types)
    else:
        assert not isinstance(result, tuple)

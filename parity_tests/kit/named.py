"""How the named vectors are written: plain lists and tuples in the contract's order, which become typed arrays.

A list is an array of the dtype that the contract says; a tuple is what stands in for several: the arguments of a call,
or the fields of a record.
"""

from typing import Any, NamedTuple

import numpy as np

from parity_tests.kit import oracle
from parity_tests.kit.calls import operation_of
from parity_tests.kit.cases import Case, Fault
from parity_tests.kit.contract import Array, Record
from parity_tests.kit.shapes import promised
from parity_tests.kit.trees import Tree, leaves, map_leaves

INT_MIN, INT_MAX = -(2**31), 2**31 - 1

# Where a mistake was seen.
ATOM = "https://github.com/ROCm/ATOM/pull/"
VLLM = "https://github.com/vllm-project/vllm/pull/"
ASCEND = "https://github.com/vllm-project/vllm-ascend/pull/"
GAUDI = "https://github.com/vllm-project/vllm-gaudi/pull/"
SGLANG = "https://github.com/sgl-project/sglang/pull/"
JAX = "https://github.com/jax-ml/jax/issues/"

# The running example of the contract.
CU = [0, 1, 5, 7]
ANCHORS = [100, 200, 300]
DRAFTS = [[11, 12, 13], [21, 22, 23], [31, 32, 33]]

Given = tuple | Tree


class Laid(NamedTuple):
    """An array that arrives as a non-contiguous view."""

    layout: str
    values: list


class Raw(NamedTuple):
    """Handed over as it stands, which is no array."""

    value: Any


def empty(*shape: int) -> np.ndarray:
    """An int32 array of a shape that lists cannot write."""
    return np.zeros(shape, np.int32)


def typed(dtype: str, values: Any) -> np.ndarray:
    """An array of another dtype than the contract's."""
    return np.array(values, dtype)


def case(
    op: str,
    name: str,
    comment: str,
    inputs: Given,
    expected: Any = None,
    *,
    static: dict[str, Any] | None = None,
    source: str = "contract",
) -> Case:
    """A call with a defined result: `expected` where it was derived by hand, else the oracle's."""
    operation = operation_of(op)
    given = _arrays(operation.arguments, inputs)
    layouts = {path: leaf.layout for path, leaf in leaves(given) if isinstance(leaf, Laid)}
    result = None if expected is None else _result(operation.result, expected)
    return Case(name, op, comment, source, static or {}, map_leaves(_plain, given), result, layouts=layouts)


def fault(
    op: str,
    name: str,
    comment: str,
    inputs: Given,
    arguments: str | tuple[str, ...],
    mentions: tuple[str, ...] = (),
    *,
    static: dict[str, Any] | None = None,
    source: str = "contract",
) -> Case:
    """A call that must raise `ValueError`, naming one of `arguments` and holding all of `mentions`."""
    names = (arguments,) if isinstance(arguments, str) else arguments
    return case(op, name, comment, inputs, static=static, source=source)._replace(fault=Fault(names, mentions))


def opened(op: str, name: str, comment: str, inputs: Given, *, static: dict[str, Any] | None = None) -> Case:
    """A call whose values the contract leaves open: it must not raise, and keep dtypes and shapes."""
    made = case(op, name, comment, inputs, static=static)
    return made._replace(expected=promised(operation_of(op), made.inputs, made.static))


def indices_of(cu_seqlens_q: list[int], num_draft_tokens: list[int], k: int) -> Tree:
    """The `VerifyIndices` of a step, as the oracle has them."""
    step = case("verify_indices", "", "", (cu_seqlens_q, num_draft_tokens))
    return oracle.evaluate(step.op, step.inputs, {"num_speculative_tokens": k})


def prepared(inputs: Given, block_size: int) -> Tree:
    """The `StepInputs` that `prepare_step` makes of `inputs`, as the oracle has them."""
    step = case("prepare_step", "", "", inputs)
    return oracle.evaluate(step.op, step.inputs, {"block_size": block_size})


def _arrays(fields: tuple[Array | Record, ...], given: Given) -> Tree:
    if isinstance(given, tuple):
        given = {field.name: value for field, value in zip(fields, given, strict=True)}
    known = {field.name: field for field in fields}
    return {name: _array(known[name], value) for name, value in given.items()}


def _array(field: Array | Record, value: Any) -> Any:
    if isinstance(value, Raw | np.ndarray):
        return value
    if isinstance(value, Laid):
        return Laid(value.layout, _array(field, value.values))
    return _arrays(field.fields, value) if isinstance(field, Record) else np.array(value, field.dtype)


def _plain(_: str, leaf: Any) -> Any:
    return leaf.values if isinstance(leaf, Laid) else leaf.value if isinstance(leaf, Raw) else leaf


def _result(result: Array | Record | None, expected: Any) -> Tree:
    if result is None:
        return {}
    return {"out": _array(result, expected)} if isinstance(result, Array) else _arrays(result.fields, expected)

"""One call of one operation with the right answer: in Python, and as the JSON that any language can read.

An array is written `{"dtype", "shape", "data"}`, flat in C order; a NamedTuple is an object of arrays; an expected
entry without `data` promises dtype and shape only; anything else among the inputs is a fault, handed over as it stands.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from parity_tests.kit.trees import Tree, leaves, map_leaves, signature

SCHEMA = 1


class Promise(NamedTuple):
    """An array whose values the contract leaves open: only dtype and shape are promised."""

    dtype: str
    shape: tuple[int, ...]


class Fault(NamedTuple):
    """The error a case must raise: one of `arguments` is named in backticks, all of `mentions` are in the text."""

    arguments: tuple[str, ...]
    mentions: tuple[str, ...] = ()
    type: str = "ValueError"


class Case(NamedTuple):
    """A call, and either what it must return or the fault it must raise; `layouts` asks for views by path."""

    id: str
    op: str
    comment: str
    source: str
    static: dict[str, Any]
    inputs: Tree
    expected: Tree | None = None
    fault: Fault | None = None
    layouts: Mapping[str, str] = MappingProxyType({})


def group_key(case: Case) -> tuple:
    """Cases with the same key run in the same compiled program."""
    static = tuple((name, type(value).__name__, repr(value)) for name, value in case.static.items())
    return case.op, static, signature(case.inputs)


def laid_out(array: np.ndarray, layout: str | None) -> np.ndarray:
    """A private copy of `array`, as a view into a wider or a transposed buffer where `layout` says so.

    >>> laid_out(np.array([1, 2], np.int32), "strided").strides
    (8,)
    """
    if layout is None:
        return array.copy()
    if layout == "transposed":
        return np.ascontiguousarray(array.T).T
    if layout == "strided":
        wide = np.full((*array.shape[:-1], 2 * array.shape[-1]), 77, array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    raise ValueError(f"unknown layout {layout!r}")


def dump_case(case: Case) -> str:
    """One line of JSON; equal cases give equal bytes."""
    return _compact(_case_to_json(case))


def dump_request(case: Case) -> str:
    """One line of JSON with the call alone, its arrays without a layout, for a program that answers it."""
    inputs = map_leaves(lambda _, leaf: _leaf_to_json(leaf), case.inputs)
    return _compact({"id": case.id, "op": case.op, "static": case.static, "inputs": inputs})


def dump_cases(cases: list[Case]) -> str:
    """A whole file, one case a line."""
    lines = ",\n".join(dump_case(case) for case in cases)
    return f'{{"schema":{SCHEMA},"cases":[\n{lines}\n]}}\n'


def load_cases(text: str) -> list[Case]:
    """The cases of a file."""
    return [_case_from_json(entry) for entry in json.loads(text)["cases"]]


def _compact(entry: dict[str, Any]) -> str:
    return json.dumps(entry, separators=(",", ":"))


def _case_to_json(case: Case) -> dict[str, Any]:
    entry: dict[str, Any] = {name: getattr(case, name) for name in ("id", "op", "comment", "source", "static")}
    entry["inputs"] = map_leaves(lambda path, leaf: _leaf_to_json(leaf, case.layouts.get(path)), case.inputs)
    if case.fault is None:
        entry["expected"] = map_leaves(lambda _, leaf: _leaf_to_json(leaf), case.expected or {})
        return entry
    names = list(case.fault.arguments)
    entry |= {"error": case.fault.type, "argument": names if len(names) > 1 else names[0]}
    return entry | ({"mentions": list(case.fault.mentions)} if case.fault.mentions else {})


def _leaf_to_json(leaf: Any, layout: str | None = None) -> Any:
    if isinstance(leaf, Promise):
        return {"dtype": leaf.dtype, "shape": list(leaf.shape)}
    if not isinstance(leaf, np.ndarray):
        return leaf
    data = [_number_to_json(value) for value in leaf.ravel()]
    entry = {"dtype": leaf.dtype.name, "shape": list(leaf.shape), "data": data}
    return entry if layout is None else entry | {"layout": layout}


def _number_to_json(value: np.generic) -> bool | int | float | str:
    if not np.issubdtype(value.dtype, np.floating):
        return value.item()
    # The shortest text that gives this float32 back, not the longer one of the double it is stored in.
    return float(str(value)) if np.isfinite(value) else str(value)


def _case_from_json(entry: dict[str, Any]) -> Case:
    fault = None
    if "error" in entry:
        names = entry["argument"]
        names = (names,) if isinstance(names, str) else tuple(names)
        fault = Fault(names, tuple(entry.get("mentions", ())), entry["error"])
    return Case(
        *(entry[name] for name in ("id", "op", "comment", "source", "static")),
        inputs=_tree_from_json(entry["inputs"]),
        expected=None if fault else _tree_from_json(entry["expected"]),
        fault=fault,
        layouts=dict(_layouts(entry["inputs"])),
    )


def _tree_from_json(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "dtype" not in value:
        return {name: _tree_from_json(field) for name, field in value.items()}
    shape = tuple(value["shape"])
    if "data" not in value:
        return Promise(value["dtype"], shape)
    return np.array(value["data"], value["dtype"]).reshape(shape)


def _layouts(inputs: dict[str, Any]) -> list[tuple[str, str]]:
    marks = [(path, mark) for path, mark in leaves(inputs) if path.endswith(".layout")]
    return [(path.removesuffix(".layout"), mark) for path, mark in marks]

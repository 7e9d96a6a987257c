"""The frameworks that can run the loop: a package under test, and what a model needs beside it."""

from collections import namedtuple
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from parity_tests.kit import oracle
from parity_tests.kit.calls import as_tree, build
from parity_tests.kit.contract import OPERATIONS, Array, Operation, Record


class Framework(NamedTuple):
    """One package under test, and the few things that arrays of its framework are made, read and changed with."""

    name: str
    package: Any
    xp: Any
    """Its array functions, of which the loop uses those that NumPy has under the same name."""
    put: Callable[[np.ndarray], Any]
    """An array of the host on the device, as a copy."""
    get: Callable[[Any], np.ndarray]
    """An array of the device on the host."""
    write: Callable[[Any, Any, Any], Any]
    """`(table, index, values)`: the table with `values` at `index`, those outside of it dropped."""
    search: Callable[[Any, Any], Any]
    """`(keys, wanted)`: how many of the ascending `keys` are below each of `wanted`, int32."""
    program: Callable[[Callable], Callable]
    """Makes one program of a function of arrays."""
    program_in_place: Callable[[Callable], Callable]
    """The same, the buffers of the second argument being given up to the results."""


def jax_framework() -> Framework:
    """`jax_spec`, a step being one jitted program."""
    import jax
    import jax.numpy as jnp

    import jax_spec

    def write(table: Any, index: Any, values: Any) -> Any:
        return table.at[index].set(values, mode="drop", wrap_negative_indices=False)

    def search(keys: Any, wanted: Any) -> Any:
        return jnp.searchsorted(keys, wanted).astype(jnp.int32)

    in_place = partial(jax.jit, donate_argnums=1)
    return Framework("jax", jax_spec, jnp, jnp.array, np.asarray, write, search, jax.jit, in_place)


def torch_framework() -> Framework:
    """`torch_ref`, run eagerly on the CPU."""
    import torch

    import torch_ref

    def write(table: Any, index: Any, values: Any) -> Any:
        inside = (index >= 0) & (index < len(table))
        new = table.clone()
        new[index[inside]] = values[inside]
        return new

    def get(tensor: Any) -> np.ndarray:
        return tensor.numpy().copy()

    search = partial(torch.searchsorted, out_int32=True)
    return Framework("torch", torch_ref, torch, torch.from_numpy, get, write, search, _as_it_is, _as_it_is)


def host_sync_framework() -> Framework:
    """`torch_ref` with the ids of every step assembled on the host, as it was done before."""
    from torch_ref import host_sync

    torch = torch_framework()
    package = torch.package

    def prepare_step(input_ids: Any, cu: Any, sources: Any, *rest: Any, block_size: int) -> Any:
        inputs = package.prepare_step(input_ids, cu, sources, *rest, block_size=block_size)
        state = rest[2]
        ids = host_sync.overlay_input_ids(input_ids, cu, sources, state.anchor_token_ids, state.draft_token_ids)
        drafts = package.gather_draft_token_ids(ids, inputs.verify)
        return inputs._replace(input_ids=ids, draft_token_ids=drafts)

    return torch._replace(name="torch-host-sync", package=with_function(package, prepare_step))


def oracle_framework() -> Framework:
    """The oracle: plain loops on the host, in NumPy."""

    def write(table: np.ndarray, index: np.ndarray, values: np.ndarray) -> np.ndarray:
        inside = (index >= 0) & (index < len(table))
        new = table.copy()
        new[index[inside]] = values[inside]
        return new

    def search(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        return np.searchsorted(keys, wanted).astype(np.int32)

    return Framework("oracle", _oracle_package(), np, np.array, np.array, write, search, _as_it_is, _as_it_is)


def with_function(package: Any, function: Callable) -> Any:
    """The package with `function` in place of its own of that name."""
    names = {name: getattr(package, name) for name in dir(package) if not name.startswith("_")}
    return SimpleNamespace(**names | {function.__name__: function})


def _as_it_is(function: Callable) -> Callable:
    return function


def _oracle_package() -> Any:
    """The oracle with the signatures and the records of the other packages."""
    types = SimpleNamespace()
    for operation in OPERATIONS.values():
        for record in (*operation.arguments, operation.result):
            _name_type(record, types)
    functions = {name: partial(_answer, operation, types) for name, operation in OPERATIONS.items()}
    return SimpleNamespace(**vars(types), **functions)


def _name_type(record: Array | Record | None, types: SimpleNamespace) -> None:
    if not isinstance(record, Record):
        return
    setattr(types, record.type, namedtuple(record.type, [field.name for field in record.fields]))
    for field in record.fields:
        _name_type(field, types)


def _answer(operation: Operation, types: SimpleNamespace, *arguments: Any, **static: int) -> Any:
    named = zip(operation.arguments, arguments, strict=True)
    inputs = {argument.name: _plain(value) for argument, value in named}
    result = oracle.evaluate(operation.name, inputs, static)
    assert operation.result is not None
    return build(operation.result, result.get("out", result), types)


def _plain(value: Any) -> Any:
    return as_tree(value, np.asarray) if hasattr(value, "_fields") else value

"""One process of a data-parallel run: operations on several devices, each rank held to the oracle.

`python -m parity_tests.kit.ranks DEVICES PROCESSES INDEX PORT` writes a line of JSON for every operation and rank of
its own: null, or what differs. Each rank has rows of its own, of any lengths; on one of them nobody has a token.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from parity_tests.kit import jax_subject, oracle
from parity_tests.kit.calls import as_tree, build
from parity_tests.kit.cases import Case
from parity_tests.kit.compare import Outcome
from parity_tests.kit.contract import OPERATIONS, Operation
from parity_tests.kit.draw import SHAPES, draw
from parity_tests.kit.shapes import arguments_by_path
from parity_tests.kit.trees import Tree, leaves, map_leaves
from parity_tests.kit.trial import verdict

DIMS = SHAPES[1]
EMPTY_RANK = 3
# Two processes compile all that they run, each for itself: the whole step is enough.
WHOLE_STEP = ("prepare_step", "commit_step_donated")

_LENGTHS = ("query_lens", "cu_seqlens_q", "indices", "inputs")


def main(devices: int, processes: int, index: int, port: int) -> None:
    """Joins the other processes, if there are any, and tells of each operation."""
    import jax

    jax.config.update("jax_num_cpu_devices", devices // processes)
    if processes > 1:
        jax.distributed.initialize(f"127.0.0.1:{port}", processes, index, initialization_timeout=30)
    mesh = jax.make_mesh((devices,), ("data",))
    for name in OPERATIONS if processes == 1 else WHOLE_STEP:
        for text in compared(OPERATIONS[name], mesh):
            print(json.dumps(text), flush=True)


def compared(operation: Operation, mesh: Any) -> Iterator[str | None]:
    """For each rank on a device of this process, what differs from the oracle, or None."""
    cases = rank_cases(operation, mesh.size)
    try:
        result = _sharded(operation, cases, mesh)
    except Exception as error:
        result = error
    for place, device in enumerate(mesh.local_devices):
        case = cases[[*mesh.devices.flat].index(device)]
        yield verdict(case, result if isinstance(result, Exception) else _of_rank(result, case, place))


def _sharded(operation: Operation, cases: list[Case], mesh: Any) -> Tree:
    """The operation on all ranks, its arrays where they are."""
    import jax_spec

    arrays = map_leaves(partial(_end_to_end, cases, mesh), cases[0].inputs)
    values = [build(argument, arrays[argument.name], jax_spec) for argument in operation.arguments]
    function = jax_spec.shard_rows(getattr(jax_spec, operation.name), mesh, "data")
    program = function.lower(*values, **cases[0].static).compile(jax_subject.quick_options())
    return as_tree(program(*values), lambda array: array)


def rank_cases(operation: Operation, ranks: int) -> list[Case]:
    """A case for each rank; a table or a number is the same on all."""
    first = dict(leaves(drawn_case(operation, 0).inputs))
    shared = {path: leaf for path, leaf in first.items() if _is_shared(operation, path)}
    return [drawn_case(operation, rank, shared, is_empty=rank == EMPTY_RANK) for rank in range(ranks)]


def drawn_case(
    operation: Operation, seed: int, given: Mapping[str, np.ndarray] = MappingProxyType({}), *, is_empty: bool = False
) -> Case:
    """A case of `DIMS` as serving has them or, in turn, with hostile values, but for the arrays that are given."""
    rng = np.random.default_rng([seed, list(OPERATIONS).index(operation.name)])
    inputs, static = draw(operation, DIMS, rng, hostile=seed % 2 == 1)
    if "offsets" in inputs:
        inputs["offsets"] = np.broadcast_to(inputs["offsets"], DIMS["B"]).astype(np.int32)

    def chosen(path: str, leaf: np.ndarray) -> np.ndarray:
        return leaf * 0 if is_empty and path.split(".")[0] in _LENGTHS else given.get(path, leaf)

    inputs = map_leaves(chosen, inputs)
    expected = oracle.evaluate(operation.name, inputs, static)
    return Case(f"drawn-{seed}", operation.name, "", "contract", static, inputs, expected)


def _is_shared(operation: Operation, path: str) -> bool:
    return arguments_by_path(operation)[path].shape in ("", "N")


def _end_to_end(cases: list[Case], mesh: Any, path: str, first: np.ndarray) -> Any:
    """The arrays of all ranks as one that lies on the devices of all processes."""
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    shared = _is_shared(OPERATIONS[cases[0].op], path)
    whole = first if shared else np.concatenate([dict(leaves(case.inputs))[path] for case in cases])
    sharding = NamedSharding(mesh, PartitionSpec() if shared else PartitionSpec("data"))
    return jax.make_array_from_callback(whole.shape, sharding, lambda index: whole[index])


def _of_rank(result: Tree, case: Case, place: int) -> Outcome:
    """What the device at `place` among those of this process holds; a number stands in an array of one."""
    expected = dict(leaves(case.expected or {}))

    def own(path: str, leaf: Any) -> np.ndarray:
        part = np.asarray(leaf.addressable_shards[place].data)
        return part.reshape(()) if part.size == 1 and expected[path].ndim == 0 else part

    return map_leaves(own, result)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

"""`shard_rows`: each rank has its own rows, whatever the mesh; nothing is sent, what is donated is taken over."""

import re
from functools import partial
from typing import Any

import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import jax_spec
from parity_tests.kit.calls import build
from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.ranks import rank_cases

from .examples import NAMES, same

# Of any type: NumPy arrays go in, too, and what must be refused.
shard_rows: Any = jax_spec.shard_rows

RANKS = 4
COLLECTIVE = re.compile(
    "all.?reduce|all.?gather|all.?to.?all|collective.?permute|reduce.?scatter|collective.?broadcast"
)
TYPES = {"auto": AxisType.Auto, "explicit": AxisType.Explicit}
LAYOUTS = {"one axis": ((4,), ("data",), "data"), "beside another": ((2, 2), ("data", "model"), "data")} | {
    "two axes": ((2, 2), ("data", "expert"), ("data", "expert")),
    "a tuple of one": ((1, 4), ("model", "data"), ("data",)),
}

EXPLICIT = jax.make_mesh((4,), ("data",), axis_types=(AxisType.Explicit,))
# What JAX traced, lowered and compiled. `no_tracing` refuses another sharding even where the trace is there already.
WORK: list[str] = []


@jax.monitoring.register_event_duration_secs_listener
def note(event, *_, **__):
    WORK.append(event)


CU = np.array([0, 2, 3] * RANKS, np.int32)


def calls(name: str, ranks: int) -> tuple[tuple[Any, ...], Any, dict[str, int]]:
    """The arrays of all ranks end to end, the results end to end, and the statics."""
    operation, cases = OPERATIONS[name], rank_cases(OPERATIONS[name], ranks)
    shared = {argument.name for argument in operation.arguments if getattr(argument, "shape", None) in ("", "N")}
    each = [
        [build(argument, case.inputs[argument.name], jax_spec) for argument in operation.arguments] for case in cases
    ]
    whole = [
        values[0] if argument.name in shared else jax.tree.map(lambda *parts: np.concatenate(parts), *values)
        for argument, *values in zip(operation.arguments, *each, strict=True)
    ]
    plain = getattr(jax_spec, name.removesuffix("_donated"))
    results = [plain(*values, **cases[0].static) for values in each]
    return (
        tuple(whole),
        jax.tree.map(lambda *parts: np.concatenate([*map(np.atleast_1d, parts)]), *results),
        cases[0].static,
    )


def placed(arrays: Any, mesh: Any, axis: Any) -> Any:
    """Copies on the ranks, which can be donated."""
    specs = jax.tree.map(lambda leaf: PartitionSpec(axis) if is_of_ranks(leaf) else PartitionSpec(), arrays)
    shardings = jax.tree.map(partial(NamedSharding, mesh), specs)
    return jax.jit(lambda tree: jax.tree.map(jnp.copy, tree), out_shardings=shardings)(arrays)


def is_of_ranks(leaf: np.ndarray) -> bool:
    return (leaf.ndim > 0 and leaf.dtype != np.float32) or leaf.ndim > 1


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", NAMES)
def test_every_rank_has_its_own_result_and_sends_nothing(name, kind):
    mesh = jax.make_mesh((RANKS,), ("data",), axis_types=(TYPES[kind],))
    arrays, expected, static = calls(name, RANKS)
    given = placed(arrays, mesh, "data")
    lowered = shard_rows(getattr(jax_spec, name), mesh, "data").lower(*given, **static)
    program = lowered.compile()
    assert not COLLECTIVE.search(f"{lowered.as_text()} {program.as_text()}")
    donated = jax.tree.leaves(given[0]) if OPERATIONS[name].donates else []
    assert program.memory_analysis().alias_size_in_bytes == sum(leaf.nbytes for leaf in donated) // RANKS
    result = program(*given)
    assert same(jax.device_get(result), expected)
    rows = NamedSharding(mesh, PartitionSpec("data"))
    assert all(leaf.sharding.is_equivalent_to(rows, leaf.ndim) for leaf in jax.tree.leaves(result))
    assert [leaf.is_deleted() for leaf in jax.tree.leaves(given[0])] == [bool(donated)] * len(jax.tree.leaves(given[0]))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_other_meshes(layout, kind):
    shape, names, axis = LAYOUTS[layout]
    mesh = jax.make_mesh(shape, names, axis_types=(TYPES[kind],) * len(shape))
    ranks = 2 if layout == "beside another" else 4
    arrays, expected, static = calls("prepare_step", ranks)
    result = shard_rows(jax_spec.prepare_step, mesh, axis)(*placed(arrays, mesh, axis), **static)
    assert same(jax.device_get(result), expected)


def test_a_mesh_without_its_devices_where_one_is_set():
    bound = shard_rows(jax_spec.token_index_bound, EXPLICIT.abstract_mesh, "data")
    with jax.set_mesh(EXPLICIT):
        assert bound(placed(CU, EXPLICIT, "data")).tolist() == [2] * RANKS


def test_the_search_for_collectives_finds_one():
    total = partial(jax.lax.psum, axis_name="data")
    summed = jax.shard_map(total, mesh=EXPLICIT, in_specs=PartitionSpec("data"), out_specs=PartitionSpec())
    lowered = jax.jit(summed).lower(placed(CU, EXPLICIT, "data"))
    assert COLLECTIVE.search(str(lowered.as_text()))
    assert COLLECTIVE.search(str(lowered.compile().as_text()))


@pytest.mark.parametrize("kind", TYPES)
def test_inside_the_jit_of_a_caller(kind):
    mesh = jax.make_mesh((RANKS,), ("data",), axis_types=(TYPES[kind],))
    layout, rows = (shard_rows(f, mesh, "data") for f in (jax_spec.cu_seqlens, jax_spec.token_rows))
    step = jax.jit(lambda lens: rows(layout(lens + 1), capacity=8))
    lens = placed(np.array([0, 1, 4, 0, 2, 2, -1, -1], np.int32), mesh, "data")
    with jax.set_mesh(mesh):
        assert step(lens).row.reshape(RANKS, 8).tolist() == [
            [0, 1, 1, 2, 2, 2, 2, 2],
            [0, 0, 0, 0, 0, 1, 2, 2],
            [0, 0, 0, 1, 1, 1, 2, 2],
            [2] * 8,
        ]


@pytest.mark.parametrize("kind", TYPES)
def test_arrays_that_lie_elsewhere_are_brought_to_the_ranks(kind):
    mesh = jax.make_mesh((RANKS,), ("data",), axis_types=(TYPES[kind],))
    bound = shard_rows(jax_spec.token_index_bound, mesh, "data")
    everywhere = jax.device_put(CU, NamedSharding(mesh, PartitionSpec()))
    for given in (CU, jnp.asarray(CU), everywhere):
        assert bound(given).tolist() == [2] * RANKS


def test_a_function_of_ones_own_with_a_table_for_all():
    def scores(cu_seqlens_q, weights, tokens, *, capacity):
        rows = jax_spec.token_rows(cu_seqlens_q, capacity=capacity)
        return jnp.where(rows.valid, weights[tokens], 0), jnp.sum(tokens)

    sharded = shard_rows(scores, EXPLICIT, "data", replicated=["weights"])
    weights, tokens = np.array([5, 6, 7], np.int32), np.array([0, 1, 2, 1] * RANKS, np.int32)
    values, sums = sharded(CU, tokens=tokens, weights=weights, capacity=4)
    assert values.tolist() == [5, 6, 7, 0] * RANKS
    assert sums.tolist() == [4] * RANKS


def test_its_signature_is_that_of_the_operation():
    sharded = shard_rows(jax_spec.token_rows, EXPLICIT, "data")
    assert sharded.__name__ == "token_rows"
    with pytest.raises(ValueError, match="`capacity`: got -1"):
        sharded(CU, capacity=-1)
    by_name = sharded(cu_seqlens_q=CU, capacity=4)
    assert by_name.row.tolist() == [0, 0, 1, 2] * RANKS


def test_a_switch_that_has_a_default_may_be_left_out_or_given():
    sharded = shard_rows(jax_spec.schedule_verify_lens, EXPLICIT, "data")
    confidence, table = np.full((2 * RANKS, 1), 0.5, np.float32), np.array([1, 1, 1, 0.8, 1], np.float32)
    live = np.ones(2 * RANKS, bool)
    assert sharded(confidence, table, live).tolist() == [0, 0] * RANKS
    assert sharded(confidence, table, live, early_stop=False).tolist() == [1, 1] * RANKS


@pytest.mark.parametrize("kind", TYPES)
def test_a_state_placed_by_hand_and_one_that_came_out_share_a_program(kind):
    mesh = jax.make_mesh((RANKS,), ("data",), axis_types=(TYPES[kind],))
    store = shard_rows(jax_spec.store_drafts, mesh, "data")
    (state, slots, drafts), _, _ = calls("store_drafts", RANKS)
    state, slots, drafts = placed((state, slots, drafts), mesh, "data")
    result = store(state, slots, drafts)
    before = len(WORK)
    jax.block_until_ready(store(result, slots, drafts))
    assert WORK[before:] == []


def test_new_values_are_not_traced():
    sharded = shard_rows(jax_spec.cu_seqlens, EXPLICIT, "data")
    for number, lens in enumerate(
        placed(np.arange(8 * i, 8 * i + 8, dtype=np.int32), EXPLICIT, "data") for i in range(4)
    ):
        if number == 0:
            sharded(lens)
        with jax.no_tracing():
            jax.block_until_ready(sharded(lens))


@pytest.mark.parametrize("axis", ["rows", ("data", "rows"), (), ("data", "data"), None])
def test_an_axis_that_the_mesh_does_not_have_is_refused(axis):
    with pytest.raises(ValueError, match=r"`axis`: got .*, expected one or more of the mesh's axes \('data',\)"):
        shard_rows(jax_spec.cu_seqlens, EXPLICIT, axis)


@pytest.mark.parametrize("replicated", [["weight"], "weight", ["capacity"]])
def test_a_replicated_array_that_is_none_is_refused(replicated):
    with pytest.raises(ValueError, match=r"`replicated`: got .*(weight|capacity).*, expected names among \['cu_seq"):
        shard_rows(jax_spec.token_rows, EXPLICIT, "data", replicated=replicated)


def test_one_prefix_sum_for_all_ranks_is_refused():
    bound = shard_rows(jax_spec.token_index_bound, EXPLICIT, "data")
    with pytest.raises(ValueError, match=r"`cu_seqlens_q`: got int32\[9\], expected the arrays of 4 ranks end to end"):
        bound(np.zeros(9, np.int32))


def test_a_field_that_does_not_part_is_named():
    store = shard_rows(jax_spec.store_drafts, EXPLICIT, "data")
    state = jax_spec.StepState(jnp.zeros(8, jnp.int32), jnp.zeros((7, 2), jnp.int32), jnp.zeros(8, jnp.int32))
    with pytest.raises(ValueError, match=r"field `draft_token_ids` of `state`: got int32\[7, 2\]"):
        store(state, np.zeros(4, np.int32), np.zeros((4, 2), np.int32))


def test_sizes_of_a_rank_are_checked():
    sharded = shard_rows(jax_spec.seq_lens, EXPLICIT, "data")
    with pytest.raises(ValueError, match=r"`num_computed_tokens`: got int32\[3\], expected int32\[B\] with B = 2"):
        sharded(CU, np.zeros(12, np.int32))


def test_a_python_number_is_refused():
    with pytest.raises(ValueError, match="`offsets`: got a Python number"):
        shard_rows(jax_spec.last_token_indices, EXPLICIT, "data")(CU, 1)

"""Programs compiled before serving: their shapes, and that serving compiles nothing afterwards."""

import threading
from functools import partial
from typing import Any

import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding

import jax_spec
from jax_spec.engines import tpu_inference
from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.draw import SHAPES

from .examples import NAMES, SERVING, arguments, same, specs

SIZES = SHAPES[0]
LADDER = [8, 16, 32]
STEP = ("prepare_step", "commit_step_donated", "store_drafts_donated")
SHAPELESS = [name for name in NAMES if any(getattr(x, "shape", "") == "..." for x in OPERATIONS[name].arguments)]

# Of any type: what must be refused goes in, too.
precompile: Any = jax_spec.precompile
step_shapes: Any = jax_spec.step_shapes

WORK: list[str] = []


@jax.monitoring.register_event_duration_secs_listener
def note(event, *_, **__):
    WORK.append(event)


def shapes(sizes, operation, bucket):
    return step_shapes(operation, sizes | {"T": bucket})


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SHAPELESS])
def test_shapes_are_those_of_a_real_call(name):
    sizes = SIZES | SERVING
    arrays, static = arguments(name, dims=sizes)
    found = step_shapes(getattr(jax_spec, name), sizes)
    assert found == (specs(arrays), static)


def test_ten_thousand_steps_in_any_bucket_compile_nothing():
    functions = [getattr(jax_spec, name) for name in STEP]
    programs = precompile(functions, LADDER, partial(shapes, SIZES))
    state = jax_spec.StepState(*(jnp.copy(leaf) for leaf in first_state()))
    rng, seen = np.random.default_rng(0), set()
    before = len(WORK)
    for _ in range(10_000):
        staged, slots, sampled, drafts, total = random_step(rng)
        bucket = jax_spec.pick_bucket(LADDER, [total])
        seen.add(bucket)
        ids, cu, *rows, tables = staged
        with jax.no_tracing():
            inputs = programs["prepare_step", bucket](ids[:bucket], cu, *rows, state, tables)
            result = programs["commit_step_donated", bucket](state, inputs, cu, slots, sampled)
            state = programs["store_drafts_donated", bucket](result.state, slots, drafts)
    jax.block_until_ready(state)
    assert seen == set(LADDER)
    assert WORK[before:] == []


def first_state():
    shape = (SIZES["S"],), (SIZES["S"], SIZES["K"]), (SIZES["S"],)
    return [jnp.zeros(size, jnp.int32) for size in shape]


def random_step(rng):
    rows, columns = SIZES["B"], SIZES["K"]
    lens = rng.integers(0, rng.choice([3, 5, 9]), rows)
    cu = np.concatenate([[0], np.cumsum(lens)]).astype(np.int32)

    def ints(*shape):
        return rng.integers(-1, 9, shape, np.int32)

    staged = (ints(max(LADDER)), cu, ints(rows), ints(rows), ints(rows), ints(rows, SIZES["P"]))
    slots = rng.permutation(SIZES["S"])[:rows].astype(np.int32)
    return staged, slots, ints(rows * (columns + 1)), ints(rows, columns), int(cu[-1])


def test_a_step_that_was_not_compiled_is_seen():
    before = len(WORK)
    jax_spec.token_rows(jnp.zeros(3, jnp.int32), capacity=4321)
    assert WORK[before:] != []


def test_the_operations_themselves_compile_nothing_either():
    precompile([jax_spec.token_rows], [77, 78], partial(shapes, {"B": 5}))
    cu, before = jax.device_put(np.zeros(6, np.int32)), len(WORK)
    for bucket in (77, 78):
        jax.block_until_ready(jax_spec.token_rows(cu, capacity=bucket))
    assert WORK[before:] == []


def test_programs_on_a_mesh_compile_nothing_in_the_state_they_gave():
    mesh = jax.make_mesh((4,), ("data",))
    sharded = jax_spec.shard_rows(jax_spec.store_drafts_donated, mesh, "data")
    sizes = {"B": 2, "S": 3, "K": 2}
    programs = precompile([sharded], [8], lambda f, _: step_shapes(f, sizes, mesh=mesh, axis="data"))
    ((slots_of_state, *_), slots, drafts), _ = step_shapes(sharded, sizes, mesh=mesh, axis="data")
    assert (slots_of_state.shape, slots.shape, drafts.shape) == ((12,), (8,), (8, 2))
    rows = NamedSharding(mesh, PartitionSpec("data"))
    numbers = jax.device_put(np.tile(np.arange(2, dtype=np.int32), 4), rows)
    state = jax_spec.StepState(*jax.device_put([np.zeros(n, np.int32) for n in ((12,), (12, 2), (12,))], rows))
    before = len(WORK)
    with jax.no_tracing():
        for value in range(3):
            new = jax.device_put(np.full((8, 2), value, np.int32), rows)
            state = programs["store_drafts_donated", 8](state, numbers, new)
    assert WORK[before:] == []
    assert state.draft_token_ids[:, 0].tolist() == [2, 2, 0] * 4


def test_what_all_ranks_share_is_replicated():
    mesh = jax.make_mesh((4,), ("data",))
    sizes = {"B": 2, "K": 3, "N": 9}
    found, statics = step_shapes(jax_spec.schedule_verify_lens, sizes, mesh=mesh, axis="data")
    assert [leaf.shape for leaf in found] == [(8, 3), (9,), (8,)]
    assert [leaf.sharding.spec for leaf in found] == [PartitionSpec("data"), PartitionSpec(), PartitionSpec("data")]
    assert statics == {}
    (_, _, table), _ = step_shapes(
        jax_spec.overlay_rows, {"B": 2, "S": 5}, mesh=mesh, axis="data", replicated=["table"]
    )
    assert (table.shape, table.sharding.spec) == ((5,), PartitionSpec())


def test_a_static_of_its_own_goes_before_its_letter():
    sizes = {"B": 4, "K": 2, "T": 64, "capacity": 16}
    assert step_shapes(tpu_inference.spec_metadata, sizes).statics == {"num_speculative_tokens": 2, "capacity": 16}
    assert step_shapes(jax_spec.token_rows, sizes).statics == {"capacity": 16}


def test_operations_on_a_device_that_the_shapes_name_compile_nothing_either():
    there = SingleDeviceSharding(jax.devices()[1])

    def placed(operation, bucket):
        found = shapes({"B": 6}, operation, bucket)
        put = partial(jax.tree.map, lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=there))
        return found._replace(arguments=put(found.arguments))

    precompile([jax_spec.token_rows], [79, 79], placed)
    cu, before = jax.device_put(np.zeros(7, np.int32), there), len(WORK)
    jax.block_until_ready(jax_spec.token_rows(cu, capacity=79))
    assert WORK[before:] == []


def test_functions_of_ones_own_are_compiled_too():
    @jax.jit
    def step(cu_seqlens_q, scale):
        return cu_seqlens_q[-1] * scale

    def by_hand(_, bucket):
        return jax_spec.StepShapes(
            (jax.ShapeDtypeStruct((bucket,), jnp.int32), jax.ShapeDtypeStruct((), jnp.int32)), {}
        )

    programs = precompile([step], [3, 5], by_hand)
    assert int(programs["step", 5](np.arange(5, dtype=np.int32), np.int32(10))) == 40


def test_progress_counts_to_the_end_in_the_calling_thread():
    told = []

    def progress(done, total):
        told.append((done, total, threading.current_thread() is threading.main_thread()))

    functions = [jax_spec.token_rows, jax_spec.token_positions]
    programs = precompile(functions, [4, 8], partial(shapes, SIZES), workers=2, progress=progress)
    assert told == [(done, 4, True) for done in (1, 2, 3, 4)]
    assert set(programs) == {(name, bucket) for name in ("token_rows", "token_positions") for bucket in (4, 8)}


def test_compiler_options_reach_the_compiler():
    with pytest.raises(Exception, match="no_such_option"):
        precompile([jax_spec.token_rows], [4], partial(shapes, SIZES), compiler_options={"no_such_option": 1})


def test_a_context_of_the_caller_counts():
    mesh = jax.make_mesh((4,), ("data",))
    with jax.set_mesh(mesh):
        precompile([jax_spec.seq_lens], [1], partial(shapes, {"B": 11}), workers=2)
        cu, computed = jax.device_put((np.zeros(12, np.int32), np.zeros(11, np.int32)))
        before = len(WORK)
        jax.block_until_ready(jax_spec.seq_lens(cu, computed))
    assert WORK[before:] == []


def test_a_program_refuses_what_it_was_not_compiled_for():
    programs = precompile([jax_spec.seq_lens], [1], partial(shapes, SIZES))
    with pytest.raises(TypeError, match="cu_seqlens_q"):
        programs["seq_lens", 1](np.zeros(9, np.int32), np.zeros(8, np.int32))


def test_programs_give_what_the_operations_give():
    arrays, static = arguments("prepare_step", dims=SIZES)
    programs = precompile([jax_spec.prepare_step], [SIZES["T"]], partial(shapes, SIZES))
    assert same(programs["prepare_step", SIZES["T"]](*arrays), jax_spec.prepare_step(*arrays, **static))


@pytest.mark.parametrize("name", SHAPELESS)
def test_any_shape_is_refused(name):
    with pytest.raises(ValueError, match=r"`operation`: got one whose `token_.*` may have any shape"):
        step_shapes(getattr(jax_spec, name), SIZES)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"B": 2}, r"`sizes`: got \['B'\], expected 'T' among them, for `capacity`"),
        ({"T": 2}, r"`sizes`: got \['T'\], expected 'B' among them, for `cu_seqlens_q`"),
        ({"B": -1, "T": 2}, "`sizes`: got -1 .* for 'B', expected an int from 0"),
        ({"B": np.int64(3), "T": 2}, "`sizes`: got .*int64.* for 'B', expected an int from 0"),
    ],
)
def test_sizes_are_checked(sizes, message):
    with pytest.raises(ValueError, match=message):
        step_shapes(jax_spec.token_rows, sizes)


def test_a_mesh_needs_its_axis():
    mesh = jax.make_mesh((4,), ("data",))
    with pytest.raises(ValueError, match="`axis`"):
        step_shapes(jax_spec.token_rows, SIZES, mesh=mesh)


def test_two_functions_of_one_name_are_refused():
    with pytest.raises(ValueError, match=r"`operations`: got \['token_rows', 'token_rows'\], expected each name once"):
        precompile([jax_spec.token_rows] * 2, [4], partial(shapes, SIZES))

"""The scheduler at the sizes where its program changes and its sums are largest, and what its switch may be."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

import jax_spec
from jax_spec._schedule import COMPARED_TOKENS, UNROLLED_COLUMNS
from parity_tests.kit import oracle

COLUMNS = 7
MOST_COMPARED = COMPARED_TOKENS // (COLUMNS + 1)


def step(rows, seed):
    """Confidences with many equal survivals, and a table whose yield is near a tie at every batch."""
    rng = np.random.default_rng(seed)
    confidence = rng.choice(np.array([0.5, 0.9, 0.99, 1], np.float32), (rows, COLUMNS))
    live = rng.random(rows) < 0.9
    survivals = np.sort(np.cumprod(confidence[live], axis=1).ravel())[::-1]
    expected = live.sum() + np.cumsum(np.append(0, survivals))
    table = np.ones(rows * (COLUMNS + 1) + 1)
    table[live.sum() :][: expected.size] = expected[0] / expected * (1 + 1e-7 * rng.integers(-1, 2, expected.size))
    table[live.sum() + 1 :][: expected.size // 2] *= 1 + 1e-6 * np.arange(1, expected.size // 2 + 1)
    return {"confidence": confidence, "sps_table": table.astype(np.float32), "live": live}


@pytest.mark.parametrize("early_stop", [True, False], ids=["early", "global"])
@pytest.mark.parametrize(
    ("platform", "rows"), [("cpu", MOST_COMPARED), ("rocm", MOST_COMPARED), ("rocm", MOST_COMPARED + 1)]
)
def test_program_of_each_size_gives_what_the_oracle_does(platform, rows, early_stop):
    unchecked = [export.DisabledSafetyCheck.platform()]
    function = jax.jit(lambda *arrays: jax_spec.schedule_verify_lens(*arrays, early_stop=early_stop))
    program = export.export(function, platforms=[platform], disabled_checks=unchecked)(*step(rows, 0).values())
    assert ("stablehlo.sort" in program.mlir_module()) == (platform == "cpu" or rows > MOST_COMPARED)
    admitted = []
    for seed in range(3):
        inputs = step(rows, seed)
        expected = oracle.evaluate("schedule_verify_lens", inputs, {"early_stop": early_stop})["out"]
        assert np.array_equal(program.call(*inputs.values()), expected)
        admitted.append(int(expected.sum()) / (inputs["live"].sum() * COLUMNS))
    assert 0 < min(admitted) < max(admitted) < 1


@pytest.mark.parametrize("rows", [1, MOST_COMPARED, 16384])
def test_the_largest_sum_fits(rows):
    tokens = rows * (COLUMNS + 1)
    ones = (jnp.ones((rows, COLUMNS), jnp.float32), jnp.ones(tokens + 1, jnp.float32), jnp.ones(rows, jnp.bool))
    assert jax_spec.schedule_verify_lens(*ones).tolist() == [COLUMNS] * rows


@pytest.mark.parametrize(("rows", "columns"), [(3, UNROLLED_COLUMNS), (3, UNROLLED_COLUMNS + 1), (1, 16384)])
def test_long_rows_are_multiplied_in_the_same_order(rows, columns):
    rng = np.random.default_rng(columns)
    near_one = (1 - rng.integers(1, 2000, (rows, columns)) / (1000 * columns)).astype(np.float32)
    inputs = {
        "confidence": near_one,
        "sps_table": np.linspace(1, 0, rows * columns, dtype=np.float32),
        "live": np.full(rows, True),
    }
    expected = oracle.evaluate("schedule_verify_lens", inputs, {"early_stop": False})["out"]
    assert 0 < expected.sum() < rows * columns
    assert np.array_equal(jax_spec.schedule_verify_lens(*inputs.values(), early_stop=False), expected)


@pytest.mark.parametrize("switch", [0, 1, np.True_, None, "yes"])
def test_a_switch_is_true_or_false(switch):
    # No other test has this shape: what is traced already takes 1 for True.
    arrays = (jnp.ones((3, 11), jnp.float32), jnp.ones(5, jnp.float32), jnp.ones(3, jnp.bool))
    with pytest.raises(ValueError, match=r"^`early_stop`: got .*, expected True or False"):
        jax_spec.schedule_verify_lens(*arrays, early_stop=switch)


def test_a_table_without_entries_is_refused():
    arrays = (jnp.ones((3, 2), jnp.float32), jnp.ones(0, jnp.float32), jnp.ones(3, jnp.bool))
    with pytest.raises(ValueError, match=r"^`sps_table`: got float32\[0\], expected float32\[N >= 1\]"):
        jax_spec.schedule_verify_lens(*arrays)

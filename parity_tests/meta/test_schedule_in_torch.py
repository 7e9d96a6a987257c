"""The torch scheduler at full size."""

import numpy as np
import pytest
import torch

import torch_ref
from parity_tests.kit import oracle

COLUMNS = 4


def step(rows: int, seed: int) -> dict[str, np.ndarray]:
    """Confidences with many equal survivals; a table with a dip, behind which the most tokens are no loss yet."""
    rng = np.random.default_rng(seed)
    table = rows / np.maximum(np.arange(rows * (COLUMNS + 1) + 1), 2 * rows)
    table[rows * 3 // 2] *= 0.99
    return {
        "confidence": rng.choice(np.array([0.25, 0.5, 0.9, 1], np.float32), (rows, COLUMNS)),
        "sps_table": table.astype(np.float32),
        "live": rng.random(rows) < 0.9,
    }


@pytest.mark.parametrize("early_stop", [True, False], ids=["early", "global"])
@pytest.mark.parametrize("rows", [255, 257, 4096])
def test_large_batches_are_as_the_oracle_has_them(rows: int, early_stop: bool) -> None:
    inputs = step(rows, rows)
    expected = oracle.evaluate("schedule_verify_lens", inputs, {"early_stop": early_stop})["out"]
    got = torch_ref.schedule_verify_lens(*map(torch.from_numpy, inputs.values()), early_stop=early_stop)
    assert got.dtype == torch.int32
    assert np.array_equal(got, expected)
    tokens = inputs["live"].sum() + expected.sum()
    assert tokens == (rows * 3 // 2 - 1 if early_stop else 2 * rows)


@pytest.mark.parametrize("rows", [1, 512, 4096, 2**18])
def test_the_largest_sum_fits(rows: int) -> None:
    ones = torch.ones(rows, COLUMNS), torch.ones(1), torch.ones(rows, dtype=torch.bool)
    assert torch_ref.schedule_verify_lens(*ones).sum() == rows * COLUMNS

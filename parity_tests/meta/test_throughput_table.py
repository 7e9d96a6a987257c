"""The table of speeds that the scheduler reads, made from measured points: the same in both packages."""

from typing import Any

import numpy as np
import pytest

import jax_spec
import torch_ref


@pytest.fixture(params=[jax_spec, torch_ref], ids=lambda package: package.__name__)
def package(request: pytest.FixtureRequest) -> Any:
    return request.param


POINTS = ([1, 4, 32], [90.0, 80.5, 7.25])


def test_table_is_straight_between_the_points_and_flat_outside(package: Any) -> None:
    table = package.throughput_table(*POINTS, size=40)
    assert table.dtype == np.float32
    assert table.shape == (40,)
    assert table[[0, 1, 4, 32, 33, 39]].tolist() == [90, 90, 80.5, 7.25, 7.25, 7.25]
    assert table[[2, 18]].tolist() == pytest.approx([90 - 9.5 / 3, (80.5 + 7.25) / 2], rel=1e-7)
    assert (np.diff(table[1:33]) < 0).all()


def test_table_may_end_before_the_points_do(package: Any) -> None:
    assert package.throughput_table(*POINTS, size=2).tolist() == [90, 90]


def test_one_point_is_enough_and_arrays_will_do(package: Any) -> None:
    assert package.throughput_table([7], [3], size=2).tolist() == [3, 3]
    assert package.throughput_table(np.array([0, 2]), np.array([1, 0], np.float32), size=3).tolist() == [1, 0.5, 0]


@pytest.mark.parametrize("seed", range(20))
def test_packages_agree_to_the_last_bit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tokens = np.sort(rng.choice(3000, 1 + seed, replace=False)).tolist()
    speeds = (rng.random(len(tokens)) * 10.0 ** rng.integers(-40, 38)).tolist()
    left, right = (package.throughput_table(tokens, speeds, size=2048) for package in (jax_spec, torch_ref))
    assert left.dtype == right.dtype == np.float32
    assert left.tobytes() == right.tobytes()
    assert left.tobytes() == np.interp(np.arange(2048), tokens, speeds).astype(np.float32).tobytes()


REFUSED = {
    "no-points": ("num_tokens", {"num_tokens": [], "steps_per_second": []}),
    "no-speeds": ("steps_per_second", {"steps_per_second": []}),
    "one-speed-less": ("steps_per_second", {"steps_per_second": [2.0]}),
    "negative-tokens": ("num_tokens", {"num_tokens": [-1, 3]}),
    "falling-tokens": ("num_tokens", {"num_tokens": [3, 1]}),
    "tokens-twice": ("num_tokens", {"num_tokens": [3, 3]}),
    "part-of-a-token": ("num_tokens", {"num_tokens": [1.0, 2.5]}),
    "table-of-tokens": ("num_tokens", {"num_tokens": [[1, 3]]}),
    "number-of-tokens": ("num_tokens", {"num_tokens": 1}),
    "negative-speed": ("steps_per_second", {"steps_per_second": [2.0, -1.0]}),
    "nan": ("steps_per_second", {"steps_per_second": [np.nan, 1.0]}),
    "infinity": ("steps_per_second", {"steps_per_second": [np.inf, 1.0]}),
    "beyond-float32": ("steps_per_second", {"steps_per_second": [3.5e38, 1.0]}),
    "text": ("steps_per_second", {"steps_per_second": ["2", "1"]}),
    "truth": ("steps_per_second", {"steps_per_second": [True, False]}),
    "no-size": ("size", {"size": 0}),
    "size-of-numpy": ("size", {"size": np.int64(4)}),
    "size-of-truth": ("size", {"size": True}),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_table_of_bad_points_is_refused(package: Any, fault: str) -> None:
    name, change = REFUSED[fault]
    given: dict[str, Any] = {"num_tokens": [1, 3], "steps_per_second": [2.0, 1.0], "size": 4, **change}
    with pytest.raises(ValueError, match=f"^`{name}`: got .*, expected "):
        package.throughput_table(given.pop("num_tokens"), given.pop("steps_per_second"), **given)

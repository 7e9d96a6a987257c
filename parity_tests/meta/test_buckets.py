"""Ladders and buckets: host arithmetic on Python ints, with an error that says what to do."""

import itertools

import numpy as np
import pytest

import jax_spec
import torch_ref

both = pytest.mark.parametrize("package", [jax_spec, torch_ref], ids=lambda package: package.__name__)


def doubled(smallest, largest, step=None):
    """The ladder, one entry from the last."""
    entry = smallest
    while entry < largest:
        yield entry
        entry = entry * 2 if step is None or entry < step else next(n for n in range(entry + 1, 10**6) if n % step == 0)
    yield largest


@pytest.mark.parametrize(
    ("smallest", "largest", "step", "ladder"),
    [
        (64, 320, None, [64, 128, 256, 320]),
        (16, 128, None, [16, 32, 64, 128]),
        (16, 100, 32, [16, 32, 64, 96, 100]),
        (3, 50, 16, [3, 6, 12, 24, 32, 48, 50]),
        (40, 60, 16, [40, 48, 60]),
        (7, 7, None, [7]),
        (1, 4, 1, [1, 2, 3, 4]),
    ],
)
@both
def test_ladder(package, smallest, largest, step, ladder):
    assert package.bucket_ladder(smallest, largest, step=step) == ladder


@both
def test_any_ladder_rises_to_its_largest(package):
    for smallest, largest, step in itertools.product(range(1, 12), range(12, 40), (None, 1, 3, 8)):
        assert package.bucket_ladder(smallest, largest, step=step) == list(doubled(smallest, largest, step))


@pytest.mark.parametrize(
    ("totals", "multiple_of", "bucket"),
    [([7, 10], 4, 12), ([7, 10], 3, 12), ([], 1, 4), ([0, 0], 1, 4), ([16], 1, 16), ([4], 1, 4), ([5], 8, 8)],
)
@both
def test_bucket(package, totals, multiple_of, bucket):
    assert package.pick_bucket([4, 8, 12, 16], totals, multiple_of=multiple_of) == bucket


@both
def test_any_bucket_is_the_smallest_that_holds_the_largest_rank(package):
    for ladder in itertools.permutations([3, 4, 6, 12]):
        for totals in itertools.product(range(13), repeat=2):
            bucket = package.pick_bucket(ladder, totals, multiple_of=3)
            assert bucket == min(n for n in (3, 6, 12) if n >= max(totals))


def test_nothing_that_fits_is_told_with_total_ladder_and_remedy():
    wanted = (
        r"^`totals`: got 13 at index 0, expected at most 12, the largest of `ladder` = \[4, 8, 12, 16\] that is "
        r"divisible by 3 \(`multiple_of`\): schedule fewer tokens or add a larger bucket$"
    )
    with pytest.raises(ValueError, match=wanted):
        jax_spec.pick_bucket([4, 8, 12, 16], [13, 2], multiple_of=3)
    with pytest.raises(ValueError, match=r"^`totals`: got 17 at index 1, expected at most 16, .*16\]: schedule"):
        jax_spec.pick_bucket([4, 8, 12, 16], [13, 17])


@pytest.mark.parametrize(("ladder", "multiple_of"), [([4, 8, 12, 16], 3), ([], 1), ([5], 2)])
@both
def test_nothing_that_fits_is_a_value_error(package, ladder, multiple_of):
    with pytest.raises(ValueError, match=r"`ladder`"):
        package.pick_bucket(ladder, [13, 2], multiple_of=multiple_of)


def test_a_ladder_without_an_entry_is_told():
    with pytest.raises(ValueError, match=r"^`ladder`: got \[\], expected an entry of at least 1, the largest of "):
        jax_spec.pick_bucket([], [1])
    with pytest.raises(ValueError, match=r"^`ladder`: got \[4, 8\], expected an entry that is divisible by 3"):
        jax_spec.pick_bucket([4, 8], [1], multiple_of=3)


@pytest.mark.parametrize("wrong", [True, 4.0, np.int64(4), "4", None, -1, 2**31])
@both
def test_what_is_no_python_int_is_refused_by_name(package, wrong):
    for call, name in [
        (lambda: package.pick_bucket([4, wrong], [1]), "ladder"),
        (lambda: package.pick_bucket([4], [1, wrong]), "totals"),
        (lambda: package.pick_bucket([4], [1], multiple_of=wrong), "multiple_of"),
        (lambda: package.bucket_ladder(wrong, 8), "smallest"),
        (lambda: package.bucket_ladder(1, wrong), "largest"),
        (lambda: package.bucket_ladder(1, 8, step=wrong), "step"),
    ]:
        if name == "step" and wrong is None:
            continue
        with pytest.raises(ValueError, match=f"^`{name}`: got .*, expected an? "):
            call()


@pytest.mark.parametrize("wrong", [7, None, "47", b"47"])
@both
def test_what_is_no_sequence_is_refused_by_name(package, wrong):
    with pytest.raises(ValueError, match=r"^`totals`: got .*, expected a "):
        package.pick_bucket([4], wrong)
    with pytest.raises(ValueError, match=r"^`ladder`: got .*, expected a "):
        package.pick_bucket(wrong, [4])


@both
def test_what_can_be_read_once_is_read_once(package):
    assert package.pick_bucket(iter([4, 8]), iter([2, 7])) == 8


@pytest.mark.parametrize(("smallest", "largest", "step", "name"), [(0, 4, None, "smallest"), (5, 4, None, "smallest")])
def test_ends_that_make_no_ladder_are_refused(smallest, largest, step, name):
    with pytest.raises(ValueError, match=f"^`{name}`: got {smallest}"):
        jax_spec.bucket_ladder(smallest, largest, step=step)


def test_a_step_of_nothing_is_refused():
    with pytest.raises(ValueError, match=r"^`step`: got 0"):
        jax_spec.bucket_ladder(1, 4, step=0)

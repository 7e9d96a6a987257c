"""Only a donating entry point gives up its argument, and its result takes over the buffer."""

import jax
import jax.numpy as jnp
import pytest

import jax_spec
from parity_tests.kit.contract import OPERATIONS

from .examples import NAMES, SERVING, arguments, same

# On the CPU, `device_put` may leave an array where NumPy has it: such a buffer can't be given up.
on_device = jax.jit(lambda tree: jax.tree.map(jnp.copy, tree))

DONATING = [name for name in NAMES if OPERATIONS[name].donates]


@pytest.mark.parametrize("name", NAMES)
def test_arguments_stay_as_they_were(name):
    arrays, static = arguments(name)
    given = on_device(arrays)
    jax.block_until_ready(getattr(jax_spec, name)(*given, **static))
    donated = OPERATIONS[name].donates
    for argument, value, before in zip(OPERATIONS[name].arguments, given, arrays, strict=True):
        gone = {leaf.is_deleted() for leaf in jax.tree.leaves(value)}
        assert gone == {argument.name == donated}
        assert gone == {True} or same(value, before)


def state_of(result):
    return getattr(result, "state", result)


# With as many slots as rows, results of other kinds have the shape of the state's arrays.
@pytest.mark.parametrize("slots", [12, SERVING["B"]], ids=["more-slots-than-rows", "as-many"])
@pytest.mark.parametrize("name", DONATING)
def test_result_takes_over_the_buffer(name, slots):
    arrays, static = arguments(name, dims=SERVING | {"S": slots})
    given = on_device(arrays)
    pointers = [leaf.unsafe_buffer_pointer() for leaf in jax.tree.leaves(given[0])]
    result = state_of(getattr(jax_spec, name)(*given, **static))
    assert [leaf.unsafe_buffer_pointer() for leaf in jax.tree.leaves(result)] == pointers


@pytest.mark.parametrize("name", DONATING)
def test_compiled_program_aliases_every_donated_byte(name):
    arrays, static = arguments(name)
    memory = getattr(jax_spec, name).lower(*arrays, **static).compile().memory_analysis()
    assert memory.alias_size_in_bytes == sum(leaf.nbytes for leaf in jax.tree.leaves(arrays[0]))


@pytest.mark.parametrize("name", DONATING)
def test_plain_form_aliases_nothing(name):
    arrays, static = arguments(name)
    plain = getattr(jax_spec, name.removesuffix("_donated"))
    assert plain.lower(*arrays, **static).compile().memory_analysis().alias_size_in_bytes == 0


@pytest.mark.parametrize("name", DONATING)
def test_what_was_given_up_says_so_when_it_is_used_again(name):
    arrays, static = arguments(name)
    given = on_device(arrays)
    operation = getattr(jax_spec, name)
    program = operation.lower(*arrays, **static).compile()
    program(*given)
    leaf = jax.tree.leaves(given[0])[0]
    for use in (lambda: operation(*given, **static), lambda: program(*given), lambda: leaf + 1, leaf.tolist):
        with pytest.raises((ValueError, RuntimeError), match="deleted"):
            use()

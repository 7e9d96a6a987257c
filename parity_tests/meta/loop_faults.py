"""Faults to plant in the step of `jax_spec`: each must show in the text that a model with a paged cache produces."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

import jax_spec
from parity_tests.lossless.frameworks import Framework, jax_framework, with_function

Change = Callable[[jax_spec.StepInputs], jax_spec.StepInputs]


def _in_inputs(change: Change) -> Callable:
    def prepare_step(*arguments: Any, block_size: int) -> jax_spec.StepInputs:
        return change(jax_spec.prepare_step(*arguments, block_size=block_size))

    return prepare_step


def _of_another_row(ids: Any, cu: Any, sources: Any, drafts: Any, computed: Any, state: Any, *rest: Any, **static: int):
    state = state._replace(anchor_token_ids=jnp.roll(state.anchor_token_ids, 1))
    return jax_spec.prepare_step(ids, cu, sources, drafts, computed, state, *rest, **static)


def _judged_one_further(state: Any, inputs: Any, cu: Any, slots: Any, sampled: Any) -> jax_spec.StepResult:
    return jax_spec.commit_step(state, inputs, cu, slots, jnp.roll(sampled, -1))


def _all_accepted(state: Any, inputs: Any, cu: Any, slots: Any, sampled: Any) -> jax_spec.StepResult:
    drafts = inputs.verify.target_logits_indices
    forged = sampled.at[jnp.where(inputs.draft_token_ids >= 0, drafts, sampled.size)].set(inputs.draft_token_ids)
    return jax_spec.commit_step(state, inputs, cu, slots, forged)


# All positions moved by the same distance would be no fault: a rotation knows distances only.
FAULTS: dict[str, tuple[str, Callable]] = {
    "position of the place before": (
        "prepare_step",
        _in_inputs(lambda x: x._replace(positions=jnp.roll(x.positions, 1))),
    ),
    "slot of the place before": (
        "prepare_step",
        _in_inputs(lambda x: x._replace(slot_mapping=jnp.roll(x.slot_mapping, 1))),
    ),
    "sequence one short": ("prepare_step", _in_inputs(lambda x: x._replace(seq_lens=x.seq_lens - 1))),
    "sequence one long": ("prepare_step", _in_inputs(lambda x: x._replace(seq_lens=x.seq_lens + 1))),
    "logits of the place before": (
        "prepare_step",
        _in_inputs(
            lambda x: x._replace(verify=x.verify._replace(logits_indices=jnp.maximum(x.verify.logits_indices - 1, 0)))
        ),
    ),
    "anchor of another request": ("prepare_step", _of_another_row),
    "judged by the next logit": ("commit_step", _judged_one_further),
    "every draft accepted": ("commit_step", _all_accepted),
}


def planted(fault: str) -> Framework:
    """JAX with one of the faults in it."""
    name, function = FAULTS[fault]
    function.__name__ = name
    framework = jax_framework()
    return framework._replace(package=with_function(framework.package, function))

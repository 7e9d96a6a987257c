"""Prompt lookup: what followed, the last time, on what the request says now."""

from typing import Any

LONGEST = 4

# Shares of drafts accepted in the recorded runs behind a match of 0, 1, ... tokens, rounded to a tenth: of the first
# draft, and of a later one where all before it were accepted.
FIRST, LATER = (0.0, 0.2, 0.6, 0.3, 0.6), (0.0, 0.5, 0.4, 0.4, 0.9)


def look_up(tokens: Any, lens: Any, drafts: int) -> tuple[Any, Any]:
    """Drafts from the longest match of a request's last tokens in its own text; among equals, from the latest.

    Args:
        tokens: text of each request, int32 `[B, L]`.
        lens: tokens of it that count, int32 `[B]`.
        drafts: K.

    Returns:
        Drafts int32 `[B, K]`, 0 where there is none, and how confident each is, float32 `[B, K]`.
    """
    import jax.numpy as jnp

    place = jnp.arange(tokens.shape[1], dtype=jnp.int32)
    matched = jnp.zeros_like(tokens)
    for back in range(1, LONGEST + 1):
        wanted = _at(tokens, lens[:, None] - back)
        same = (_at(tokens, place[None, :] - back) == wanted) & (place >= back)
        matched += (same & (matched == back - 1)).astype(jnp.int32)
    matched = jnp.where(place < lens[:, None], matched, 0)
    follows = jnp.argmax(matched * place.size + place, axis=1).astype(jnp.int32)[:, None]
    found = jnp.take_along_axis(matched, follows, axis=1)
    source = follows + jnp.arange(drafts, dtype=jnp.int32)
    real = (found > 0) & (source < lens[:, None])
    first, later = (jnp.array(shares, jnp.float32)[found] for shares in (FIRST, LATER))
    confidence = jnp.where(source == follows, first, later)
    return jnp.where(real, _at(tokens, source), 0), jnp.where(real, confidence, 0.0)


def _at(tokens: Any, places: Any) -> Any:
    import jax.numpy as jnp

    return jnp.take_along_axis(tokens, jnp.clip(places, 0, tokens.shape[1] - 1), axis=1)

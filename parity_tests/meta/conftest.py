"""The project's own tests: several CPU devices for the meshes, set before JAX starts; heavy tests only when asked."""

from pathlib import Path

import jax
import pytest

jax.config.update("jax_num_cpu_devices", 8)

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "full" in (config.getoption("markexpr") or ""):
        return
    # The hook sees the tests of the whole session; those of the suite are its own business.
    left_out = [item for item in items if item.path.parent == HERE and item.get_closest_marker("full")]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)

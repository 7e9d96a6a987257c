"""Which implementations the suite runs on, and which of its tests are only run when asked for."""

import pytest

from parity_tests.suite._running import chosen, load


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "full: the search at its full size (minutes); chosen with `-m full`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "full" in (config.getoption("markexpr") or ""):
        return
    left_out = [item for item in items if item.get_closest_marker("full")]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test runs once for each implementation (`subject`), or once for each `framework` among them."""
    names = chosen(metafunc.config)
    if "subject" in metafunc.fixturenames and "case" not in metafunc.fixturenames:
        metafunc.parametrize("subject", [load(name) for name in names], ids=names)
    if "framework" in metafunc.fixturenames:
        metafunc.parametrize("framework", [name for name in ("jax", "torch") if name in names])

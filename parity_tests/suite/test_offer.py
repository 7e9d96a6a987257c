"""Every operation that is asked of an implementation is there. A missing one fails here, and is tried no further."""

import pytest

from parity_tests.kit.subjects import Subject
from parity_tests.kit.vectors import OPERATION_NAMES


@pytest.mark.parametrize("name", OPERATION_NAMES)
def test_operation_is_there(outsider: Subject, name: str) -> None:
    if name in outsider.lacks:
        pytest.fail(f"{outsider.name} has no function {name}", pytrace=False)

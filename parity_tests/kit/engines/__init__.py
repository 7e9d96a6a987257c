"""The recorded runs in the names of serving engines: what each adapter makes of a step is what was recorded."""

from parity_tests.kit.engines._compare import ROWS as ROWS
from parity_tests.kit.engines._compare import compare as compare

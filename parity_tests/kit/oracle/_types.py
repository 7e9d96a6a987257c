"""The kinds of array that the oracle speaks of, in the contract's letters.

jaxtyping cannot solve `B+1` for `B`, so `B1`, `BK` and `BK1` stand for `B+1`, `B*K` and `B*(K+1)`.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Int32

CuSeqlens = Int32[np.ndarray, " B1"]
PerRow = Int32[np.ndarray, " B"]
PerSlot = Int32[np.ndarray, " S"]
PerToken = Int32[np.ndarray, " T"]
RowDrafts = Int32[np.ndarray, "B K"]
SlotDrafts = Int32[np.ndarray, "S K"]
PackedDrafts = Int32[np.ndarray, " BK"]
PackedDecisions = Bool[np.ndarray, " BK"]
PackedLogits = Int32[np.ndarray, " BK1"]
BlockTables = Int32[np.ndarray, "B P"]
AnyShape = Int32[np.ndarray, "..."]
Scalar = Int32[np.ndarray, ""]

Record = dict[str, Any]

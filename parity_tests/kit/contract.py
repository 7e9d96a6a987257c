"""The contract as data: what every operation takes and gives, once, for every tool of the kit.

Letters: `B` rows of the batch, `S` rows of the state tables, `K` draft columns, `T` token capacity, `P` columns of a
block table, `N` entries of a throughput table. A shape is written as in the contract, `"B K+1"`; `"..."` stands for any
shape.
"""

from typing import NamedTuple


class Array(NamedTuple):
    """One array: its name, dtype and shape in letters."""

    name: str
    shape: str
    dtype: str = "int32"
    or_scalar: bool = False


class Record(NamedTuple):
    """A NamedTuple of arrays: the name it has here, its type and its fields."""

    name: str
    type: str
    fields: tuple["Array | Record", ...]


class Static(NamedTuple):
    """A Python value that is part of the compiled program.

    An int has its least legal value and perhaps a letter that it fixes, a bool the value it has when it is left out.
    """

    name: str
    least: int = 0
    letter: str = ""
    default: bool | None = None


class Operation(NamedTuple):
    """A function of the contract. `result` is named `out` where it is a single array; None returns nothing."""

    name: str
    section: int
    arguments: tuple[Array | Record, ...]
    result: Array | Record | None
    statics: tuple[Static, ...] = ()
    donates: str = ""


CU = Array("cu_seqlens_q", "B+1")
SOURCE = Array("source_rows", "B")
ANCHORS = Array("anchor_token_ids", "S")
DRAFTS = Array("draft_token_ids", "S K")
INPUT_IDS = Array("input_ids", "T")
COMPUTED = Array("num_computed_tokens", "B")
NUM_DRAFT = Array("num_draft_tokens", "B")
TABLES = Array("block_tables", "B P")
SLOTS = Array("slots", "B")
SAMPLED = Array("sampled_token_ids", "B*(K+1)")
PACKED_DRAFTS = Array("draft_token_ids", "B*K")
CONFIDENCE = Array("confidence", "B K", "float32")
SPS_TABLE = Array("sps_table", "N", "float32")
LIVE = Array("live", "B", "bool")
VERIFY_LENS = Array("verify_lens", "B")
ACCEPTED_MAX = Array("num_accepted_max", "")
SCHEDULED_LENS = Array("scheduled_lens", "B")

CAPACITY = Static("capacity", 0, "T")
NUM_SPECULATIVE = Static("num_speculative_tokens", 0, "K")
BLOCK_SIZE = Static("block_size", 1)
VOCAB_SIZE = Static("vocab_size", 1)
EARLY_STOP = Static("early_stop", default=True)

VERIFY_FIELDS = (
    NUM_DRAFT,
    Array("cu_num_draft_tokens", "B"),
    Array("cu_num_logits", "B+1"),
    Array("logits_indices", "B*(K+1)"),
    Array("target_logits_indices", "B*K"),
    Array("bonus_logits_indices", "B"),
)
ACCEPTANCE_FIELDS = (
    Array("num_accepted", "B"),
    Array("num_rejected", "B"),
    Array("next_token_ids", "B"),
    Array("output_token_ids", "B K+1"),
)
STATE_FIELDS = (ANCHORS, DRAFTS, Array("num_computed_tokens", "S"))
INPUTS_FIELDS = (
    INPUT_IDS,
    Array("positions", "T"),
    COMPUTED,
    Array("seq_lens", "B"),
    Array("slot_mapping", "T"),
    Record("verify", "VerifyIndices", VERIFY_FIELDS),
    PACKED_DRAFTS,
)
RESULT_FIELDS = (
    Record("acceptance", "Acceptance", ACCEPTANCE_FIELDS),
    Array("last_token_indices", "B"),
    Record("state", "StepState", STATE_FIELDS),
)
ROWS_FIELDS = (Array("row", "T"), Array("offset", "T"), Array("valid", "T", "bool"))
BOUNDED_FIELDS = (Array("query_lens", "B"), Array("representable", "", "bool"))

INDICES = Record("indices", "VerifyIndices", VERIFY_FIELDS)
STATE = Record("state", "StepState", STATE_FIELDS)
INPUTS = Record("inputs", "StepInputs", INPUTS_FIELDS)
ACCEPTANCE = Record("out", "Acceptance", ACCEPTANCE_FIELDS)
NEW_STATE = Record("out", "StepState", STATE_FIELDS)
STEP_RESULT = Record("out", "StepResult", RESULT_FIELDS)

OVERLAY = (INPUT_IDS, CU, SOURCE, ANCHORS, DRAFTS)
COMMIT = (STATE, INPUTS, CU, SLOTS, SAMPLED)
STORE = (STATE, SLOTS, Array("draft_token_ids", "B K"))


def out(shape: str, dtype: str = "int32") -> Array:
    """The result of an operation that gives one array."""
    return Array("out", shape, dtype)


_ALL = (
    Operation("cu_seqlens", 3, (Array("query_lens", "B"),), out("B+1")),
    Operation("token_rows", 3, (CU,), Record("out", "TokenRows", ROWS_FIELDS), (CAPACITY,)),
    Operation(
        "assemble_input_ids",
        4,
        (CU, Array("anchor_token_ids", "B"), Array("draft_token_ids", "B K")),
        out("T"),
        (CAPACITY,),
    ),
    Operation("overlay_input_ids", 4, OVERLAY, out("T")),
    Operation("overlay_input_ids_donated", 4, OVERLAY, out("T"), donates="input_ids"),
    Operation("overlay_rows", 4, (Array("staged", "B"), SOURCE, Array("table", "S")), out("B")),
    Operation("token_index_bound", 5, (CU,), out("")),
    Operation("clamp_token_indices", 5, (Array("token_indices", "..."), CU), out("...")),
    Operation("last_token_indices", 5, (CU, Array("offsets", "B", or_scalar=True)), out("B")),
    Operation("clamp_token_ids", 5, (Array("token_ids", "..."),), out("..."), (VOCAB_SIZE,)),
    Operation("verify_indices", 6, (CU, NUM_DRAFT), Record("out", "VerifyIndices", VERIFY_FIELDS), (NUM_SPECULATIVE,)),
    Operation("gather_draft_token_ids", 6, (INPUT_IDS, INDICES), out("B*K")),
    Operation("accept_greedy", 6, (INDICES, PACKED_DRAFTS, SAMPLED), ACCEPTANCE),
    Operation("accept_sampled", 6, (INDICES, PACKED_DRAFTS, Array("accepted", "B*K", "bool"), SAMPLED), ACCEPTANCE),
    Operation("token_positions", 7, (CU, COMPUTED), out("T"), (CAPACITY,)),
    Operation("seq_lens", 7, (CU, COMPUTED), out("B")),
    Operation("slot_mapping", 7, (CU, COMPUTED, TABLES), out("T"), (CAPACITY, BLOCK_SIZE)),
    Operation(
        "prepare_step",
        8,
        (INPUT_IDS, CU, SOURCE, NUM_DRAFT, COMPUTED, STATE, TABLES),
        Record("out", "StepInputs", INPUTS_FIELDS),
        (BLOCK_SIZE,),
    ),
    Operation("commit_step", 8, COMMIT, STEP_RESULT),
    Operation("commit_step_donated", 8, COMMIT, STEP_RESULT, donates="state"),
    Operation("store_drafts", 8, STORE, NEW_STATE),
    Operation("store_drafts_donated", 8, STORE, NEW_STATE, donates="state"),
    Operation("schedule_verify_lens", 10, (CONFIDENCE, SPS_TABLE, LIVE), out("B"), (EARLY_STOP,)),
    Operation(
        "bound_query_lens",
        10,
        (VERIFY_LENS, ACCEPTED_MAX, SCHEDULED_LENS),
        Record("out", "BoundedLens", BOUNDED_FIELDS),
        (NUM_SPECULATIVE,),
    ),
)

OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in _ALL}

# `check_step` takes its arrays by keyword, all but the first optional, and returns nothing.
CHECK_STEP = Operation(
    "check_step",
    9,
    (CU, SOURCE, SLOTS, NUM_DRAFT, Array("token_ids", "...")),
    None,
    (CAPACITY, NUM_SPECULATIVE, Static("num_slots", 0, "S"), VOCAB_SIZE),
)


def statics_of(operation: Operation, dims: dict[str, int]) -> dict[str, int]:
    """The statics of a call whose letters, and statics that no letter gives, have the values of `dims`."""
    return {static.name: dims[static.letter or static.name] for static in operation.statics}


def shape_of(array: Array, dims: dict[str, int]) -> tuple[int, ...]:
    """The shape of `array` where the letters have the values of `dims`; `"..."` is taken as `[B, 2]`."""
    text = array.shape.replace("...", "B 2")
    return tuple(eval(term, {"__builtins__": {}}, dims) for term in text.split())


def tree_of(value: Array | Record, leaf):
    """The arrays of `value` under their names, `leaf` applied to each: the nested form that cases are written in."""
    if isinstance(value, Array):
        return leaf(value)
    return {field.name: tree_of(field, leaf) for field in value.fields}

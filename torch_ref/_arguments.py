"""What an operation refuses at call time: a dtype, rank, shape, device or static that does not fit."""

from typing import Any, NamedTuple

import torch

from torch_ref._types import StepInputs, StepState, VerifyIndices

INT32_MAX = 2**31 - 1

_STATE_SHAPES = {"anchor_token_ids": "S", "draft_token_ids": "S K", "num_computed_tokens": "S"}
_VERIFY_SHAPES = {
    "num_draft_tokens": "B",
    "cu_num_draft_tokens": "B",
    "cu_num_logits": "B+1",
    "logits_indices": "B*(K+1)",
    "target_logits_indices": "B*K",
    "bonus_logits_indices": "B",
}
_INPUTS_SHAPES = {
    "input_ids": "T",
    "positions": "T",
    "num_computed_tokens": "B",
    "seq_lens": "B",
    "slot_mapping": "T",
    "draft_token_ids": "B*K",
}


class Argument(NamedTuple):
    """An array as handed over and the shape it should have, in terms such as `"B K+1"`; `"..."` is any shape.

    `owner` names the NamedTuple argument that the array is a field of.
    """

    name: str
    value: Any
    shape: str
    dtype: torch.dtype = torch.int32
    owner: str = ""


def check_shapes(*arguments: Argument, known: dict[str, int] | None = None) -> dict[str, int]:
    """The size of every term of the shapes; a term that is not `known` is bound by the first array that has it.

    Raises:
        ValueError: an argument is not a tensor, or its dtype, rank or shape does not fit.
    """
    sizes = known or {}
    for argument in arguments:
        is_array = isinstance(argument.value, torch.Tensor) and argument.value.dtype == argument.dtype
        bound = _bind(argument, sizes) if is_array else None
        if bound is None:
            raise ValueError(_array_fault(argument, sizes))
        sizes = bound
    return sizes


def check_arrays(*arguments: Argument, known: dict[str, int] | None = None) -> dict[str, int]:
    """`check_shapes`, and all arrays on the device of the first one."""
    sizes = check_shapes(*arguments, known=known)
    device = arguments[0].value.device
    for argument in arguments:
        if argument.value.device != device:
            reason = f"got a tensor on {argument.value.device}, expected {device}, as `{arguments[0].name}`"
            raise ValueError(f"{_label(argument)}: {reason}")
    return sizes


def check_static(name: str, value: object, least: int) -> None:
    """`ValueError` unless `value` is a Python int (no bool, no NumPy integer) from `least` to `2**31 - 1`."""
    if type(value) is not int or value < least:
        raise ValueError(f"`{name}`: got {value!r}, expected a Python int of at least {least}")
    if value > INT32_MAX:
        raise ValueError(f"`{name}`: got {value}, expected a Python int of at most {INT32_MAX}")


def check_flag(name: str, value: object) -> None:
    """`ValueError` unless `value` is a Python bool: 1 would be a program of its own, or that of True by luck."""
    if type(value) is not bool:
        raise ValueError(f"`{name}`: got {value!r}, expected a Python bool")


def check_size(argument: Argument, least: int) -> None:
    """`ValueError` unless the first axis of an array of rank 1 has `least` entries."""
    if argument.value.shape[0] < least:
        got, shape = _described(argument.value), f"[{argument.shape}] with {argument.shape} >= {least}"
        raise ValueError(f"{_label(argument)}: got {got}, expected {_an(argument.dtype)} array of shape {shape}")


def packed_sizes(rows: int, columns: int) -> dict[str, int]:
    """The sizes that `B` and `K` fix."""
    packed = {"B*K": rows * columns, "B*(K+1)": rows * (columns + 1)}
    return {"B": rows, "B+1": rows + 1, "K": columns, **packed}


def state_arguments(state: StepState) -> tuple[Argument, ...]:
    """The arrays of `state`."""
    check_type("`state`", state, StepState)
    return _fields("state", state, _STATE_SHAPES)


def indices_arguments(indices: VerifyIndices) -> tuple[Argument, ...]:
    """The arrays of `indices`."""
    check_type("`indices`", indices, VerifyIndices)
    return _fields("indices", indices, _VERIFY_SHAPES)


def inputs_arguments(inputs: StepInputs) -> tuple[Argument, ...]:
    """The arrays of `inputs`, those of its `verify` included."""
    check_type("`inputs`", inputs, StepInputs)
    check_type("field `verify` of `inputs`", inputs.verify, VerifyIndices)
    own = _fields("inputs", inputs, _INPUTS_SHAPES)
    return own + _fields("inputs.verify", inputs.verify, _VERIFY_SHAPES)


def _fields(owner: str, value: Any, shapes: dict[str, str]) -> tuple[Argument, ...]:
    return tuple(Argument(name, getattr(value, name), shape, owner=owner) for name, shape in shapes.items())


def check_type(label: str, value: object, kind: type) -> None:
    """`ValueError` unless `value` is one of our NamedTuples, of the right kind."""
    if not isinstance(value, kind):
        raise ValueError(f"{label}: got {_described(value)}, expected a {kind.__name__}")


def _bind(argument: Argument, sizes: dict[str, int]) -> dict[str, int] | None:
    terms, shape = argument.shape.split(), argument.value.shape
    if terms == ["..."]:
        return sizes
    seen = dict(zip(terms, shape, strict=False))
    if "B+1" in seen:
        seen["B"] = seen["B+1"] - 1
    agrees = all(size >= 0 and sizes.get(term, size) == size for term, size in seen.items())
    return {**sizes, **seen} if agrees and len(shape) == len(terms) else None


def _array_fault(argument: Argument, sizes: dict[str, int]) -> str:
    terms, dtype = argument.shape.split(), _dtype_name(argument.dtype)
    got, shape = _described(argument.value), f"[{', '.join(terms)}]"
    if argument.owner:
        expected = f"{dtype}{shape}"
    elif terms == ["..."]:
        expected = f"an {dtype} array of any shape"
    else:
        expected = f"{_an(argument.dtype)} array of shape {shape}"
    bound = ", ".join(f"{term} = {sizes[term]}" for term in terms if term in sizes)
    return f"{_label(argument)}: got {got}, expected {expected}" + (f" with {bound}" if bound else "")


def _label(argument: Argument) -> str:
    return f"field `{argument.name}` of `{argument.owner}`" if argument.owner else f"`{argument.name}`"


def _described(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"{_dtype_name(value.dtype)}{list(value.shape)}"
    return f"a value of type {type(value).__name__}"


def _an(dtype: torch.dtype) -> str:
    name = _dtype_name(dtype)
    return f"{'an' if name[0] == 'i' else 'a'} {name}"


def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")

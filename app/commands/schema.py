"""`wallclock schema`: the JSON Schema of the files of a course, for editors."""

import json
import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from pydantic import BaseModel

from app.content.pack_file import PackFile
from app.content.parts import PartsFile
from app.content.proof_file import ProofFile
from app.content.topic_file import TopicFile
from app.kinds import EXERCISE

_NOT_WRITTEN = ("id", "digest", "chapter_parameters")
_MODELS: dict[str, type[BaseModel]] = {
    "topic": TopicFile,
    "pack": PackFile,
    "proofs": ProofFile,
    "parts": PartsFile,
}


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock schema`."""
    parser.add_argument(
        "file", nargs="?", choices=("exercise", *_MODELS), default="exercise",
        help="exercise files, the topic.yaml of a chapter, the pack.yaml of a course pack, the "
        "proofs.yaml of its formulas, or the parts.yaml of a course (default: exercise)",
    )  # fmt: skip


def run(arguments: Namespace) -> int:
    """Print the JSON Schema."""
    model = _MODELS.get(arguments.file)
    schema = model.model_json_schema() if model else _of_exercise()
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    sys.stdout.write(json.dumps(schema, indent=1, ensure_ascii=False) + "\n")
    return 0


def _of_exercise() -> dict[str, Any]:
    """The schema of an exercise file: first the kind, then the keys of that kind.

    An editor that is given a choice of nine whole schemas complains about the first of them.
    """
    schema = EXERCISE.json_schema()
    for kind in schema["$defs"].values():
        _without(kind)
    mapping = schema["discriminator"]["mapping"]
    del schema["oneOf"]
    return schema | {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"enum": list(mapping), "description": "what is asked for"}},
        "allOf": [
            {"if": {"properties": {"kind": {"const": name}}}, "then": {"$ref": reference}}
            for name, reference in mapping.items()
        ],
    }


def _without(kind: dict[str, Any]) -> None:
    """Remove the keys that come from the path of a file, not from its text."""
    if "kind" not in kind.get("properties", {}):
        return
    for name in _NOT_WRITTEN:
        kind["properties"].pop(name, None)
        if name in kind["required"]:
            kind["required"].remove(name)

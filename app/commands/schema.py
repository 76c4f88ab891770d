"""`wallclock schema`: what an exercise file may say, for editors."""

import json
import sys
from argparse import Namespace
from typing import Any

from app.kinds import EXERCISE

_NOT_WRITTEN = ("id", "digest")


def run(_: Namespace) -> int:
    """Print the JSON Schema."""
    schema = EXERCISE.json_schema()
    for kind in schema["$defs"].values():
        _without(kind)
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    sys.stdout.write(json.dumps(schema, indent=1, ensure_ascii=False) + "\n")
    return 0


def _without(kind: dict[str, Any]) -> None:
    """Take out what the path of a file says, not its text."""
    if "kind" not in kind.get("properties", {}):
        return
    for name in _NOT_WRITTEN:
        kind["properties"].pop(name, None)
        kind["required"].remove(name)

"""The JSON Schema of an exercise file, for editors."""

from typing import Any

from app.course.kinds import EXERCISE

_NOT_WRITTEN = ("id", "digest", "chapter_parameters")


def exercise_schema() -> dict[str, Any]:
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

"""YAML with the line of every value, and nothing lost: a key given twice is an error."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from app.errors import ContentError, Problem

Where = tuple[str | int, ...]
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says, and the line on which each value of it begins."""

    path: Path
    values: Mapping[str, object]
    lines: Mapping[Where, int] = field(repr=False)

    def line(self, where: Where) -> int:
        """The line of the value at *where*, or of the nearest one around it."""
        for length in range(len(where), -1, -1):
            if line := self.lines.get(where[:length]):
                return line
        return 1

    def problem(self, where: Where, says: str) -> Problem:
        """Something wrong at *where* in this file."""
        way = ".".join(str(part) for part in where)
        return Problem(self.path, self.line(where), f"{way}: {says}" if way else says)


def read_document(path: Path) -> Document:
    """The mapping in the YAML file at *path*.

    Raises:
        ContentError: the file cannot be read, or is no mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
        root = yaml.compose(text, Loader=_Loader)
        values = yaml.load(text, Loader=_Loader)
    except (OSError, UnicodeDecodeError) as error:
        raise ContentError([Problem(path, 1, f"cannot be read: {error}")]) from error
    except yaml.YAMLError as error:
        raise ContentError([_unreadable(path, error)]) from error
    except (ValueError, RecursionError) as error:  # an impossible date, too deep a nesting
        raise ContentError([Problem(path, 1, f"cannot be read: {error}")]) from error
    if not isinstance(root, yaml.MappingNode):
        raise ContentError([Problem(path, 1, "must be a mapping: kind: ..., title: ...")])
    lines: dict[Where, int] = {}
    twice = list(_walk(path, root, (), lines))
    if twice:
        raise ContentError(twice)
    return Document(path, values, lines)


def _unreadable(path: Path, error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None)
    says = getattr(error, "problem", None) or str(error)
    return Problem(path, mark.line + 1 if mark else 1, f"is no YAML: {says}")


def _walk(path: Path, node: yaml.Node, where: Where, lines: dict[Where, int]) -> list[Problem]:
    lines.setdefault(where, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        return [
            problem
            for index, child in enumerate(node.value)
            for problem in _walk(path, child, (*where, index), lines)
        ]
    if not isinstance(node, yaml.MappingNode):
        return []
    problems, seen = [], set[Hashable]()
    for key, child in node.value:
        name = _name(key)
        line = key.start_mark.line + 1
        if name in seen:
            problems.append(Problem(path, line, f"{name!r} is there twice"))
        seen.add(name)
        lines.setdefault((*where, name), line)
        problems += _walk(path, child, (*where, name), lines)
    return problems


def _name(key: yaml.Node) -> str | int:
    if key.tag.endswith(":int") and str(key.value).isdigit():
        return int(key.value)
    return str(key.value)

"""YAML with the line of every value, and nothing lost: a key given twice is an error.

`yes`, `no`, `on` and dates are words, as in YAML 1.2; anchors are refused, since a few lines of
them can stand for more than a machine holds.
"""

import hashlib
import re
import stat
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from app.errors import ContentError, Problem

Where = tuple[str | int, ...]
LARGEST = 1_000_000  # bytes of a file
_DEEPEST = 40
_Base: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BOOLEAN = "tag:yaml.org,2002:bool"
_WORDS = {_BOOLEAN, "tag:yaml.org,2002:timestamp"}


class _Loader(_Base):  # type: ignore[misc, valid-type]  # chosen by what is installed
    yaml_implicit_resolvers = {
        letter: [pair for pair in pairs if pair[0] not in _WORDS]
        for letter, pairs in _Base.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver(_BOOLEAN, re.compile("^(?:true|false)$"), list("tf"))


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says, the line on which each value of it begins, and a hash of its bytes."""

    path: Path
    values: Mapping[str, object]
    lines: Mapping[Where, int] = field(repr=False)
    digest: str = ""

    def line(self, where: Where) -> int:
        """The line of the value at *where*, or of the nearest one around it."""
        for length in range(len(where), -1, -1):
            if line := self.lines.get(where[:length]):
                return line
        return 1

    def problem(self, where: Where, says: str, cure: str = "") -> Problem:
        """Something wrong at *where* in this file."""
        way = ".".join(str(part) for part in where)
        return Problem(self.path, self.line(where), f"{way}: {says}" if way else says, cure)


def read_document(path: Path) -> Document:
    """The mapping in the YAML file at *path*.

    Raises:
        ContentError: the file cannot be read, or is no mapping.
    """
    try:
        source = _source(path)
        text = source.decode("utf-8")
        if problem := _beyond(path, text):
            raise ContentError([problem])
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
    return Document(path, values, lines, hashlib.sha256(source).hexdigest())


def _source(path: Path) -> bytes:
    """The bytes of a regular file; reading another kind, such as a pipe, could wait for ever."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ContentError([Problem(path, 1, "is not a regular file", "remove it, or rename it")])
    if found.st_size > LARGEST:
        says = f"has {found.st_size:,} bytes, and at most {LARGEST:,} are read: is it an exercise?"
        raise ContentError([Problem(path, 1, says)])
    return path.read_bytes()


def _beyond(path: Path, text: str) -> Problem | None:
    """What in *text* could stand for more than it says."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            says = f"*{event.anchor}: anchors and aliases are not read here; write the value out"
            return Problem(path, _line(event), says)
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            depth += 1
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            says = f"is nested more than {_DEEPEST} deep"
            return Problem(path, _line(event), says)
    return None


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


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

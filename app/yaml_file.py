"""Strict YAML files with the line of every value; a duplicate key is an error.

`yes`, `no`, `on` and dates are strings, as in YAML 1.2. Anchors are refused, since a few lines of
them can expand to more than fits into memory.
"""

import hashlib
import re
import stat
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from app.errors import ContentError, Problem

KeyPath = tuple[str | int, ...]
LARGEST = 1_000_000  # bytes of a file
_DEEPEST = 40
_SafeLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BOOLEAN = "tag:yaml.org,2002:bool"
_WORDS = {_BOOLEAN, "tag:yaml.org,2002:timestamp"}

_QUOTE = "put text with special characters in quotes, or on its own line after `>` or `|`"
_SYNTAX = {
    "found character '\\t'": ("a tab", "indent with spaces"),
    "found a tab": ("a tab", "indent with spaces"),
    "mapping values are not allowed": ("a colon inside a text", _QUOTE),
    "did not find expected key": ("this line's indentation differs from the lines around", _QUOTE),
    "could not find expected ':'": ("a key without a colon", "write key: value"),
    "did not find expected ',' or": ("a comma or a closing bracket is missing", _QUOTE),
    "special characters are not allowed": ("a control character", "delete it"),
    "control characters are not allowed": ("a control character", "delete it"),
    "could not determine a constructor": ("tags (!...) are not supported", "remove it"),
}


class _Loader(_SafeLoader):  # type: ignore[misc, valid-type]  # depends on what is installed
    yaml_implicit_resolvers = {
        letter: [pair for pair in pairs if pair[0] not in _WORDS]
        for letter, pairs in _SafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver(_BOOLEAN, re.compile("^(?:true|false)$"), list("tf"))


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """The values of a file, the line on which each of them begins, and a hash of its bytes."""

    path: Path
    values: Mapping[str, object]
    lines: Mapping[KeyPath, int] = field(repr=False)
    digest: str = ""

    def line(self, where: KeyPath) -> int:
        """The line of the value at *where*, or of the nearest one around it."""
        for length in range(len(where), -1, -1):
            if line := self.lines.get(where[:length]):
                return line
        return 1

    def problem(self, where: KeyPath, says: str, cure: str = "") -> Problem:
        """A problem at *where* in this file."""
        way = ".".join(str(part) for part in where)
        return Problem(self.path, self.line(where), f"{way}: {says}" if way else says, cure)


def read_document(path: Path) -> YamlDocument:
    """The mapping in the YAML file at *path*.

    Raises:
        ContentError: the file cannot be read, or is not a mapping.
    """
    source = _source(path)
    text = _text_of(path, source)
    try:
        if problem := _unsafe(path, text):
            raise ContentError([problem])
        root, values = _read(text)
    except yaml.YAMLError as error:
        raise ContentError([_unreadable(path, error)]) from error
    except (ValueError, RecursionError) as error:  # an impossible date, too much nesting
        cure = "write it more simply"
        raise ContentError([Problem(path, 1, f"cannot be read: {error}", cure)]) from error
    if not isinstance(root, yaml.MappingNode):
        says = "must be a mapping: kind: ..., title: ..."
        raise ContentError([Problem(path, 1, says, "`wallclock new` writes a file to start from")])
    lines: dict[KeyPath, int] = {}
    duplicates = list(_walk(path, root, (), lines))
    if duplicates:
        raise ContentError(duplicates)
    return YamlDocument(path, values, lines, hashlib.sha256(source).hexdigest())


def _read(text: str) -> tuple[yaml.Node | None, Mapping[str, object]]:
    """The nodes of *text*, and the values that are made of them."""
    loader = _Loader(text)
    try:
        root: yaml.Node | None = loader.get_single_node()
        return root, loader.construct_document(root) if root else {}
    finally:
        loader.dispose()


def _source(path: Path) -> bytes:
    """The bytes of a regular file; reading another kind, such as a pipe, could wait forever.

    Raises:
        ContentError: it is another kind of file, too large, or cannot be read.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            says = "is not a regular file"
            raise ContentError([Problem(path, 1, says, "remove it, or rename it")])
        if found.st_size > LARGEST:
            size = f"{found.st_size:,} bytes, and at most {LARGEST:,} are read"
            cure = "split it, or remove data"
            raise ContentError([Problem(path, 1, f"has {size}: is it an exercise?", cure)])
        return path.read_bytes()
    except OSError as error:
        says = f"cannot be read: {(error.strerror or str(error)).lower()}"
        cure = "check its name and permissions"
        raise ContentError([Problem(path, 1, says, cure)]) from error


def _text_of(path: Path, source: bytes) -> str:
    try:
        return source.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ContentError([_not_text(path, error)]) from error


def _unsafe(path: Path, text: str) -> Problem | None:
    """The first thing in *text* that could take too much memory or stack, if any."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            says = f"*{event.anchor}: anchors and aliases are not supported"
            return Problem(path, _line(event), says, "write the value out")
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            depth += 1
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            says = f"is nested more than {_DEEPEST} levels deep"
            return Problem(path, _line(event), says, "nothing in an exercise needs that")
    return None


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _unreadable(path: Path, error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None)
    found = getattr(error, "problem", None) or str(error)
    line = mark.line + 1 if mark else 1
    for part, (says, cure) in _SYNTAX.items():
        if part in found:
            return Problem(path, line, f"is not valid YAML: {says}", cure)
    return Problem(path, line, f"is not valid YAML: {found}", _QUOTE)


def _not_text(path: Path, error: UnicodeDecodeError) -> Problem:
    line = error.object.count(b"\n", 0, error.start) + 1
    says = f"is not UTF-8: byte 0x{error.object[error.start]:02x}"
    return Problem(path, line, says, "save the file as UTF-8")


def _walk(path: Path, node: yaml.Node, where: KeyPath, lines: dict[KeyPath, int]) -> list[Problem]:
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
            problems.append(Problem(path, line, f"duplicate key {name!r}", "keep one of them"))
        seen.add(name)
        lines.setdefault((*where, name), line)
        problems += _walk(path, child, (*where, name), lines)
    return problems


def _name(key: yaml.Node) -> str | int:
    if key.tag.endswith(":int") and str(key.value).isdigit():
        return int(key.value)
    return str(key.value)

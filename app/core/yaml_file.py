"""Strict YAML files with the line of every value; a duplicate key is an error.

`yes`, `no`, `on`, `<<`, `=` and dates are strings, as in YAML 1.2. Aliases are refused, since a few
lines of them can expand to more than fits into memory.
"""

import hashlib
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from app.core.errors import ContentError, Problem

KeyPath = tuple[str | int, ...]
LARGEST = 1_000_000  # bytes of a file
_DEEPEST = 40
_SafeLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_BOOLEAN, _TEXT = f"{_TAG}bool", f"{_TAG}str"
_WORDS = {_BOOLEAN, f"{_TAG}timestamp", f"{_TAG}merge", f"{_TAG}value"}
_OF_SCALARS = {_BOOLEAN, f"{_TAG}int", f"{_TAG}float", f"{_TAG}null"}
_OF_OTHERS = {f"{_TAG}map", f"{_TAG}seq"}
_TAGS = ("tags (!...) are not supported", "remove it")

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
    "second occurrence": ("an anchor (&...) a second time", "remove it"),
    "found another document": ("a second document begins here", "remove the line `---`"),
}


_BRACE = re.compile(r"^\s*+(?:-\s++)?(?:[^\s#:{}]++:\s++)?\{[^{}]*+\}\s*+[^\s,}\]#]")


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
    return parse_document(path, read_bytes(path))


def parse_document(path: Path, source: bytes) -> YamlDocument:
    """The mapping in *source*, which is in the file at *path* or is to be written there.

    Raises:
        ContentError: it is not the text of a mapping.
    """
    try:
        text = source.decode("utf-8")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        says = f"is not UTF-8: byte 0x{source[error.start]:02x}"
        raise ContentError([Problem(path, line, says, "save the file as UTF-8")]) from error
    try:
        root, walk = _composed(path, text), _Walk(path)
        values = walk.value(root) if root else None
    except yaml.YAMLError as error:
        raise ContentError([_unreadable(path, error, text)]) from error
    except ValueError as error:  # an impossible number
        cure = "write it more simply"
        raise ContentError([Problem(path, 1, f"cannot be read: {error}", cure)]) from error
    if not isinstance(values, dict):
        says = "must be a mapping: kind: ..., title: ..."
        raise ContentError([Problem(path, 1, says, "`wallclock new` writes a file to start from")])
    if walk.duplicates:
        raise ContentError(walk.duplicates)
    return YamlDocument(path, values, walk.lines, hashlib.sha256(source).hexdigest())


def _composed(path: Path, text: str) -> Any:
    """The node of the only document, without aliases; None, if there is none."""
    try:
        if "&" in text:
            _refuse_aliases(path, text)
        return yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError:
        _refuse_aliases(path, text)  # one before the error, or of no anchor
        raise


def _refuse_aliases(path: Path, text: str) -> None:
    """Raise a ContentError at the first alias, of which nodes know nothing, or at a deep value."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            says = f"*{event.anchor}: anchors and aliases are not supported"
            raise ContentError([Problem(path, _yaml_file_line(event), says, "write the value out")])
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ContentError([_too_deep(path, _yaml_file_line(event))])


class _Walk:
    """The values of nodes, the line of each, and the keys that are there twice."""

    def __init__(self, path: Path) -> None:
        self.lines: dict[KeyPath, int] = {}
        self.duplicates: list[Problem] = []
        self._path = path
        self._scalar_of = _Loader("").construct_object

    def value(self, node: Any, where: KeyPath = ()) -> object:
        """The value of *node*, which is at *where*."""
        self.lines.setdefault(where, node.start_mark.line + 1)
        if type(node) is yaml.ScalarNode:
            return self._scalar(node)
        if len(where) == _DEEPEST:
            raise ContentError([_too_deep(self._path, _yaml_file_line(node))])
        if node.tag not in _OF_OTHERS:
            raise self._refusal(node, *_TAGS)
        if type(node) is yaml.MappingNode:
            return self._mapping(node, where)
        return [self.value(child, (*where, place)) for place, child in enumerate(node.value)]

    def _mapping(self, node: Any, where: KeyPath) -> dict[object, object]:
        values: dict[object, object] = {}
        names: set[str | int] = set()
        for key_node, child in node.value:
            if type(key_node) is not yaml.ScalarNode:
                raise self._refusal(key_node, "a key that is a list or a mapping", _QUOTE)
            key, line = self._scalar(key_node), _yaml_file_line(key_node)
            name = key if type(key) is int and key_node.value.isdigit() else key_node.value
            if name in names:
                says = f"duplicate key {name!r}"
                self.duplicates.append(Problem(self._path, line, says, "keep one of them"))
            names.add(name)
            inner = (*where, name)
            self.lines.setdefault(inner, line)
            values[key] = self.value(child, inner)
        return values

    def _scalar(self, node: Any) -> object:
        if node.tag == _TEXT:
            return node.value
        if node.tag not in _OF_SCALARS:
            raise self._refusal(node, *_TAGS)
        return self._scalar_of(node)

    def _refusal(self, node: Any, says: str, cure: str) -> ContentError:
        return ContentError([Problem(self._path, _yaml_file_line(node), f"is not valid YAML: {says}", cure)])


def read_bytes(path: Path) -> bytes:
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


def _yaml_file_line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1


def _unreadable(path: Path, error: yaml.YAMLError, text: str) -> Problem:
    mark = getattr(error, "problem_mark", None)
    found = getattr(error, "problem", None) or str(error)
    line = mark.line + 1 if mark else 1
    if "nesting" in found:  # of libyaml, which reads ahead and may notice it first
        return _too_deep(path, line)
    around = text.split("\n")[max(0, line - 2) : line]
    for back, brace in enumerate(reversed(around)):
        if _BRACE.match(brace):
            says = "is not valid YAML: a text that begins with { is read as keys"
            return Problem(path, line - back, says, "put the whole text in quotes, or begin it with another word")
    for part, (says, cure) in _SYNTAX.items():
        if part in found:
            return Problem(path, line, f"is not valid YAML: {says}", cure)
    return Problem(path, line, f"is not valid YAML: {found}", _QUOTE)


def _too_deep(path: Path, line: int) -> Problem:
    says = f"is nested more than {_DEEPEST} levels deep"
    return Problem(path, line, says, "nothing in an exercise needs that")

"""Strict YAML files with the line of every value; a duplicate key is an error.

`yes`, `no`, `on`, `<<`, `=` and dates are strings, as in YAML 1.2. Aliases are refused, since a few
lines of them can expand to more than fits into memory.
"""

import hashlib
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from app.errors import ContentError, Problem

KeyPath = tuple[str | int, ...]
LARGEST = 1_000_000  # bytes of a file
_DEEPEST = 40
_SafeLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_BOOLEAN, _TEXT = f"{_TAG}bool", f"{_TAG}str"
_WORDS = {_BOOLEAN, f"{_TAG}timestamp", f"{_TAG}merge", f"{_TAG}value"}
_OF_SCALARS = {_BOOLEAN, _TEXT, f"{_TAG}int", f"{_TAG}float", f"{_TAG}null"}
_OF_OTHERS = {None, "!", f"{_TAG}map", f"{_TAG}seq"}

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
    "found unhashable key": ("a key that is a list or a mapping", _QUOTE),
    "expected a single document": ("a second document begins here", "remove the line `---`"),
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
        read = _Read(path, text)
        values = read.values()
    except yaml.YAMLError as error:
        raise ContentError([_unreadable(path, error)]) from error
    except ValueError as error:  # an impossible number
        cure = "write it more simply"
        raise ContentError([Problem(path, 1, f"cannot be read: {error}", cure)]) from error
    if not isinstance(values, dict):
        says = "must be a mapping: kind: ..., title: ..."
        raise ContentError([Problem(path, 1, says, "`wallclock new` writes a file to start from")])
    if read.duplicates:
        raise ContentError(read.duplicates)
    return YamlDocument(path, values, read.lines, hashlib.sha256(source).hexdigest())


class _Read:
    """The values of a text, made of the events of the parser in one pass, and their lines."""

    def __init__(self, path: Path, text: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self.duplicates: list[Problem] = []
        self._path = path
        self._loader = _Loader(text)
        self._next: Callable[[], Any] = self._loader.get_event

    def values(self) -> object:
        """The value of the only document; None, if there is none.

        Raises:
            ContentError: it could take too much memory or stack.
            yaml.YAMLError: it is not valid YAML.
            ValueError: it has a number that cannot be read.
        """
        try:
            self._next()  # the start of the stream
            if type(self._next()) is yaml.StreamEndEvent:
                return None
            found = self._value(self._next(), (), 0)
            self._next()  # the end of the document
            if type(other := self._next()) is not yaml.StreamEndEvent:
                says = "expected a single document"
                raise yaml.MarkedYAMLError(None, None, says, other.start_mark)
            return found
        finally:
            self._loader.dispose()

    def _value(self, event: Any, where: KeyPath, depth: int) -> object:
        self.lines.setdefault(where, event.start_mark.line + 1)
        if type(event) is yaml.ScalarEvent:
            return self._scalar(event)
        if type(event) is yaml.AliasEvent:
            raise self._alias(event)
        if depth == _DEEPEST:
            raise ContentError([_too_deep(self._path, _line(event))])
        if event.tag not in _OF_OTHERS:
            raise _wrong(event, f"could not determine a constructor for {event.tag!r}")
        if type(event) is yaml.MappingStartEvent:
            return self._mapping(where, depth + 1)
        return self._list(where, depth + 1)

    def _list(self, where: KeyPath, depth: int) -> list[object]:
        found: list[object] = []
        while type(event := self._next()) is not yaml.SequenceEndEvent:
            found.append(self._value(event, (*where, len(found)), depth))
        return found

    def _mapping(self, where: KeyPath, depth: int) -> dict[object, object]:
        found: dict[object, object] = {}
        names: set[str | int] = set()
        while type(event := self._next()) is not yaml.MappingEndEvent:
            if type(event) is yaml.AliasEvent:
                raise self._alias(event)
            if type(event) is not yaml.ScalarEvent:
                raise _wrong(event, "found unhashable key")
            key, line = self._scalar(event), _line(event)
            name = key if type(key) is int and event.value.isdigit() else event.value
            if name in names:
                says = f"duplicate key {name!r}"
                self.duplicates.append(Problem(self._path, line, says, "keep one of them"))
            names.add(name)
            inner = (*where, name)
            self.lines.setdefault(inner, line)
            found[key] = self._value(self._next(), inner, depth)
        return found

    def _scalar(self, event: Any) -> object:
        text, tag = event.value, event.tag
        if tag is None or tag == "!":
            if not event.implicit[0] or text[:1] not in _Loader.yaml_implicit_resolvers:
                return text
            tag = self._loader.resolve(yaml.ScalarNode, text, event.implicit)
        if tag == _TEXT:
            return text
        if tag not in _OF_SCALARS:
            raise _wrong(event, f"could not determine a constructor for {tag!r}")
        return self._loader.construct_object(yaml.ScalarNode(tag, text, event.start_mark))

    def _alias(self, event: Any) -> ContentError:
        says = f"*{event.anchor}: anchors and aliases are not supported"
        return ContentError([Problem(self._path, _line(event), says, "write the value out")])


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


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1


def _wrong(event: Any, says: str) -> yaml.YAMLError:
    return yaml.MarkedYAMLError(None, None, says, event.start_mark)


def _unreadable(path: Path, error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None)
    found = getattr(error, "problem", None) or str(error)
    line = mark.line + 1 if mark else 1
    if "nesting" in found:  # of libyaml, which reads ahead and may notice it first
        return _too_deep(path, line)
    for part, (says, cure) in _SYNTAX.items():
        if part in found:
            return Problem(path, line, f"is not valid YAML: {says}", cure)
    return Problem(path, line, f"is not valid YAML: {found}", _QUOTE)


def _too_deep(path: Path, line: int) -> Problem:
    says = f"is nested more than {_DEEPEST} levels deep"
    return Problem(path, line, says, "nothing in an exercise needs that")


def _not_text(path: Path, error: UnicodeDecodeError) -> Problem:
    line = error.object.count(b"\n", 0, error.start) + 1
    says = f"is not UTF-8: byte 0x{error.object[error.start]:02x}"
    return Problem(path, line, says, "save the file as UTF-8")

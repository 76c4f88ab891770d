"""Answers in a file that /progress or /me exported, as lines that can be graded again."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from typing import BinaryIO

from app.core.errors import AppError, InputError
from app.core.line_reader import short_line, short_lines
from app.course.content.catalog import Catalog
from app.course.kinds import SEEDS
from app.course.kinds.answers import stored_answer

_LARGEST = 64 << 20  # bytes of an export


def gradable_lines(source: BinaryIO, catalog: Catalog, limit: int) -> Iterator[bytes | None]:
    """The lines of *source*, or if it is an export, a line for each of its answers.

    None is in place of a line of more than *limit* bytes.

    A line of an export expects the verdict that was stored; its `ref` is the place in the list.

    Raises:
        InputError: it is an export that is larger than the limit.
    """
    first = source.readline(_LARGEST + 1)
    if first.strip() != b"{":
        attempts = _attempts(first)
        rest = _lines_from(first, source, limit)
    else:  # an object that goes on, as no line of answers does
        content = first + source.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise InputError(f"this export is larger than {_LARGEST >> 20} MiB, the limit")
        attempts, rest = _attempts(content), short_lines(BytesIO(content), limit)
    if attempts is None:
        return rest
    return (_exports_line(place, row, catalog) for place, row in enumerate(attempts, 1))


def _lines_from(first: bytes, source: BinaryIO, limit: int) -> Iterator[bytes | None]:
    """The *first* line, of which at least the beginning was read, and those after it."""
    if first:
        yield short_line(first, source, limit)
    yield from short_lines(source, limit)


def _attempts(content: bytes) -> list[object] | None:
    """The answers of an export; None if it is none."""
    if b'"attempts"' not in content:
        return None
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    attempts = found.get("attempts") if isinstance(found, dict) else None
    return attempts if isinstance(attempts, list) and "exercise" not in found else None


def _exports_line(place: int, row: object, catalog: Catalog) -> bytes:
    given: Mapping[str, object] = row if isinstance(row, dict) else {}
    line = {name: given[name] for name in ("exercise", "seed", "answer") if name in given}
    if isinstance(given.get("correct"), bool):
        line["expect"] = "correct" if given["correct"] else "incorrect"
    with suppress(AppError, ValueError):  # the line says so when it is graded
        line |= _as_sent(given, catalog)
    return json.dumps({**line, "ref": place}).encode() + b"\n"


def _as_sent(given: Mapping[str, object], catalog: Catalog) -> Mapping[str, object]:
    """The answer in the form in which it was sent: lists and objects are stored as text."""
    name, seed, answer = given.get("exercise"), given.get("seed"), given.get("answer")
    if not (isinstance(name, str) and isinstance(seed, int) and isinstance(answer, str)):
        return {}
    if not 0 <= seed < SEEDS:
        return {}
    return {"answer": stored_answer(answer, catalog.exercise(name).right_answer(seed))}

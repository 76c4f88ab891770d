"""The bytes and lines of a file, unpacked if it is packed, and never more than allowed."""

import codecs
import re
import zlib
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from app.core.errors import InputError

PACKED_LIMIT = 64 << 20  # bytes of a file as it is sent
UNPACKED_LIMIT = 2 << 30  # bytes of what is in it
LINE_LIMIT = 1 << 14  # characters of a line that are read
_GZIP = b"\x1f\x8b"
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_MOST_WRAPPED = 20_000  # lines
_NARROWEST, _WIDEST = 40, 400  # characters of a terminal
_ENDS = re.compile(r"\r\n?|\n")  # a progress bar writes over its line with "\r"


def unpacked_blocks(path: Path, limit: int = 0) -> Iterator[bytes]:
    """What is in *path*, out of gzip if it is packed; at most *limit* bytes, or UNPACKED_LIMIT.

    Raises:
        InputError: the file is too large, packed or unpacked, or cannot be read to its end.
    """
    name, most = path.name, limit or UNPACKED_LIMIT
    left = most
    try:
        with path.open("rb") as file:
            if file.peek(2)[:2] == _GZIP and path.stat().st_size > PACKED_LIMIT:
                raise InputError(f"{name} is larger than {PACKED_LIMIT >> 20} MiB packed")
            for block in blocks(file, most + BLOCK):
                left -= len(block)
                if left < 0:
                    raise InputError(f"{name} holds more than {most >> 20} MiB")
                yield block
    except CutOffError as error:
        raise InputError(f"{name} is cut off or damaged: its gzip data end too early") from error
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from error


def file_head(path: Path, size: int) -> bytes:
    """The first *size* bytes of what is in *path*."""
    found = bytearray()
    try:
        for block in unpacked_blocks(path):
            found += block[: size - len(found)]
            if len(found) == size:
                break
    except InputError:
        if not found:  # what is there may be worth reading
            raise
    return bytes(found)


def text_lines(path: Path) -> Iterator[str]:
    """The lines of a text, whatever ends them; of a long one, its beginning."""
    decoder, rest = None, ""
    for block in unpacked_blocks(path):
        decoder = decoder or codecs.getincrementaldecoder(_UTF16.get(block[:2], "utf-8"))("replace")
        *lines, rest = _ENDS.split(rest[:LINE_LIMIT] + decoder.decode(block))
        yield from (line[:LINE_LIMIT].lstrip("\ufeff") for line in lines)
    last = decoder.decode(b"", final=True) if decoder else ""
    yield (rest + last)[:LINE_LIMIT].lstrip("\ufeff")


def unwrapped_lines(path: Path) -> list[str]:
    """The lines of a text that was cut at one width, whole again; none if it was not, or is long.

    Only where nothing else is found: rows of a table are of one width, too.
    """
    lines = list(islice(text_lines(path), _MOST_WRAPPED + 1))
    width = max(map(len, lines), default=0)
    if not _NARROWEST <= width <= _WIDEST or len(lines) > _MOST_WRAPPED:
        return []
    found = [""]
    for line in lines:
        found[-1] += line
        if len(line) < width:
            found.append("")
    return found if len(found) < len(lines) else []


BLOCK = 4 << 20  # bytes
_PACKED = 256 << 10  # bytes read at once from a compressed file
_WINDOW_BITS = 31  # zlib's window bits for a gzip header


class CutOffError(Exception):
    """A compressed file ends early or is damaged; the blocks before are good."""


def blocks(file: BinaryIO, largest: int = UNPACKED_LIMIT) -> Iterator[bytes]:
    """The contents of *file*, unpacked if it is gzip.

    Raises:
        InputError: it is larger than *largest* bytes.
        CutOffError: the compressed data does not end, or is damaged.
    """
    total = 0
    first = file.read(_PACKED)
    source = (
        _gzip_members(file, first) if first.startswith(_GZIP) else chain((first,), iter(partial(file.read, BLOCK), b""))
    )
    for block in source:
        total += len(block)
        if total > largest:
            raise InputError(f"the trace is larger than {largest / (1 << 30):g} GiB unpacked")
        yield block


def _gzip_members(file: BinaryIO, packed: bytes) -> Iterator[bytes]:
    engine = zlib.decompressobj(_WINDOW_BITS)
    while packed or engine.unconsumed_tail:
        try:
            block = engine.decompress(engine.unconsumed_tail + packed, BLOCK)
        except zlib.error:
            raise CutOffError from None
        packed = b""
        if block:
            yield block
        if engine.eof:
            packed = engine.unused_data or file.read(_PACKED)
            if not packed.startswith(_GZIP):
                return  # padding after the last member
            engine = zlib.decompressobj(_WINDOW_BITS)
        elif not engine.unconsumed_tail:
            packed = file.read(_PACKED)
    if not engine.eof:
        raise CutOffError

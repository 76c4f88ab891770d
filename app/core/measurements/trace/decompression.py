"""The bytes of a file, unpacked a block at a time; a compression bomb is refused."""

import zlib
from collections.abc import Iterator
from typing import BinaryIO

from app.core.errors import InputError
from app.core.measurements.packed_files import UNPACKED_LIMIT

BLOCK = 4 << 20  # bytes
_PACKED = 256 << 10  # bytes read at once from a compressed file
_GZIP = 31  # zlib's window bits for a gzip header
_MAGIC = b"\x1f\x8b"


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
    source = _unpacked(file, first) if first.startswith(_MAGIC) else _plain_chunks(file, first)
    for block in source:
        total += len(block)
        if total > largest:
            raise InputError(f"the trace is larger than {largest / (1 << 30):g} GiB unpacked")
        yield block


def _plain_chunks(file: BinaryIO, first: bytes) -> Iterator[bytes]:
    if first:
        yield first
    while block := file.read(BLOCK):
        yield block


def _unpacked(file: BinaryIO, packed: bytes) -> Iterator[bytes]:
    """The members of a gzip file, one after the other."""
    engine = zlib.decompressobj(_GZIP)
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
            if not packed.startswith(_MAGIC):
                return  # padding after the last member
            engine = zlib.decompressobj(_GZIP)
        elif not engine.unconsumed_tail:
            packed = file.read(_PACKED)
    if not engine.eof:
        raise CutOffError

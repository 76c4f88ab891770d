"""Which kind of file it is, by what is in it; its name does not count."""

import re
from enum import Enum
from pathlib import Path

from app.core.errors import InputError
from app.core.measurements.packed_files import file_head
from app.core.measurements.readers import TEXT_READERS

_SNIFFED = 1 << 18  # bytes at the beginning of a file that decide
# A dictionary as Python prints it begins with another quote, and is a line of a log.
_JSON = re.compile(rb"^(?:\xef\xbb\xbf)?\s*(?:\[\s*)?(?:\{\s*[\"}]|\{\s*$|(?<=\[)\s*\])")
_TRACE = re.compile(rb'"(?:traceEvents|ph|schemaVersion|deviceProperties|distributedInfo|displayTimeUnit)"\s*:')
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_OTHERS = {
    b"\x80\x02": "a pickle, such as a snapshot of memory",
    b"\x80\x03": "a pickle, such as a snapshot of memory",
    b"\x80\x04": "a pickle, such as a snapshot of memory",
    b"\x80\x05": "a pickle, such as a snapshot of memory",
    b"PK": "a zip archive",
    b"SQLite format 3": "a SQLite database, such as an export of Nsight Systems",
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"\xff\xd8": "a picture",
    b"\x28\xb5\x2f\xfd": "packed by zstd",
    b"BZh": "packed by bzip2",
    b"\xfd7zXZ": "packed by xz",
    b"\x7fELF": "a program",
}


class FileContent(Enum):
    """What a file holds, as far as its beginning says."""

    TRACE = "a trace of the PyTorch profiler"
    JSON = "nccl-tests, rccl-tests or a log of Hugging Face's Trainer as JSON"
    TEXT = "text: tables of nccl-tests, training logs, or both"


def content_of(path: Path) -> FileContent:
    """What *path* holds.

    Raises:
        InputError: it is empty or of a kind that is not read.
    """
    head = file_head(path, _SNIFFED)
    _check(path.name, head)
    if not _JSON.match(head):
        return FileContent.TEXT
    if _TRACE.search(head):
        return FileContent.TRACE
    return FileContent.JSON


def _check(name: str, head: bytes) -> None:
    if not head.strip():
        raise InputError(f"{name} is empty")
    for magic, what in _OTHERS.items():
        if head.startswith(magic):
            raise InputError(f"{name} is {what}; expected {_read_file_kinds()}")
    if b"\0" in head[:1024] and not head.startswith(_UTF16):
        raise InputError(f"{name} is not text; expected {_read_file_kinds()}")


def _read_file_kinds() -> str:
    """A list of what is read."""
    texts = [reader for reader in TEXT_READERS if reader.reads]
    tests = [reader.reads for reader in texts if not reader.takes_the_rest]
    logs = [reader.reads for reader in texts if reader.takes_the_rest]
    every = [*tests, FileContent.TRACE.value, *logs]
    return f"{', '.join(every[:-1])}, or {every[-1]}"

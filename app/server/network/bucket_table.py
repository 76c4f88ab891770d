"""When the buckets of allowances are full again, in memory that the processes of a server share."""

import fcntl
import mmap
import os
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

_WAYS = 8  # places where one bucket may be
_GROUPS = 1 << 12  # of such places
_PLACE = struct.Struct("=Qd")  # the digest of a bucket's name, and when it is full
_GROUP = struct.Struct("=" + "Qd" * _WAYS)
_KEY = 16  # bytes, so that nobody can choose names that share their places
REMEMBERED = _GROUPS * _WAYS  # buckets
_SIZE = _KEY + REMEMBERED * _PLACE.size
_DIGESTS = 20_000  # names whose digest is remembered


class BucketTable:
    """For each bucket, the time at which it is full again.

    Its size is fixed. A bucket that finds all of its places taken replaces the one in them that is
    full soonest. Every change is made under a lock on a part of the file, which the kernel
    releases if the process is killed.
    """

    def __init__(self, file: Path | None = None) -> None:
        """In *file*, for all processes that name the same one; without it, for this process."""
        self._lock = threading.Lock()
        self._file = -1 if file is None else os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        if file is not None:
            os.ftruncate(self._file, _SIZE)
        self._memory = mmap.mmap(self._file, _SIZE)
        self._digest = lru_cache(_DIGESTS)(self._digested)
        with self._locked(0, _KEY):
            if not any(self._memory[:_KEY]):
                self._memory[:_KEY] = os.urandom(_KEY)
            self._key = bytes(self._memory[:_KEY])

    def change(self, name: str, now: float, changed: Callable[[float], float]) -> float:
        """The time at which the bucket *name* was full; from now on it is what *changed* returns.

        A bucket that is full by *now* needs no place.
        """
        digest = self._digest(name)
        start = _KEY + (digest % _GROUPS) * _GROUP.size
        with self._locked(start, _GROUP.size):
            places = _GROUP.unpack_from(self._memory, start)
            digests, times = places[::2], places[1::2]
            known = digest in digests
            place = digests.index(digest) if known else times.index(min(times))
            full_at: float = times[place] if known else 0.0
            later = changed(full_at)
            if later != full_at and (known or later > now):
                _PLACE.pack_into(self._memory, start + place * _PLACE.size, digest, later)
        return full_at

    def clear(self) -> None:
        """Forget every bucket."""
        with self._locked(_KEY, _SIZE - _KEY):
            self._memory[_KEY:] = bytes(_SIZE - _KEY)

    def _digested(self, name: str) -> int:
        digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8, key=self._key)
        return int.from_bytes(digest.digest(), "little") or 1  # 0 stands for an empty place

    @contextmanager
    def _locked(self, start: int, size: int) -> Iterator[None]:
        with self._lock:
            if self._file < 0:
                yield
                return
            fcntl.lockf(self._file, fcntl.LOCK_EX, size, start)
            try:
                yield
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN, size, start)

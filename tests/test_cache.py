import os
import pickle
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.core.errors import Problem, UnavailableError
from app.server import cache
from app.server.cache import CacheFile, check_owner, joint_digest, version_digest

VALUE = {"a": [1, 2.5], "b": (Problem(Path("x.yaml"), 3, "says"), frozenset({"c"}))}


@pytest.fixture
def file(tmp_path: Path) -> CacheFile:
    return CacheFile(tmp_path / "cache" / "kind", "kind-1")


class Harmful:
    """What a pickle of someone else could do."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.folder),)


def _store(file: CacheFile, key: str, value: object) -> None:
    """Write *value* as `CacheFile` does, whatever it is."""
    file.store(key, 0)
    body = pickle.dumps(value)
    head = f"wallclock {key} {len(body):012d} {zlib.crc32(body):08x}\n".encode()
    file.path.write_bytes(head + body)


def test_a_value_is_there_for_its_key_alone(file: CacheFile) -> None:
    assert file.load("key") is None
    assert not file.has("key")
    file.store("key", VALUE)
    assert file.load("key") == VALUE
    assert file.has("key")
    for other in ("", "ke", "keys", "kex"):
        assert file.load(other) is None
        assert not file.has(other)
    file.store("other", 1)
    assert file.load("key") is None


def test_a_file_that_is_damaged_or_of_something_else_is_ignored_and_replaced(file: CacheFile) -> None:
    file.store("key", VALUE)
    whole = file.path.read_bytes()
    flipped = whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:]
    for damaged in (whole[:-1], flipped, b"", b"\x80", whole + b"x", whole[:20], b"x" * 10_000, os.urandom(500)):
        file.path.write_bytes(damaged)
        assert file.load("key") is None, damaged[:40]
        assert not file.has("key")
    file.store("key", VALUE)
    assert file.load("key") == VALUE


@pytest.mark.skipif(os.name == "nt", reason="a folder is private by its access list there")
def test_nothing_is_loaded_that_others_could_have_written(file: CacheFile) -> None:
    file.store("key", VALUE)
    for path in (file.path, file.folder):
        mode = path.stat().st_mode
        for open_to_others in (0o020, 0o002):
            path.chmod(mode | open_to_others)
            assert file.load("key") is None
            assert not file.has("key")
        path.chmod(mode)
    assert file.load("key") == VALUE
    assert file.path.stat().st_mode & 0o077 == 0


@pytest.mark.skipif(os.name == "nt", reason="a folder is private by its access list there")
def test_nothing_is_stored_where_others_could_change_it(file: CacheFile) -> None:
    file.folder.mkdir(parents=True)
    file.folder.chmod(0o777)
    file.store("key", VALUE)
    assert [*file.folder.iterdir()] == []


def test_a_value_creates_classes_of_wallclock_and_plain_ones_and_calls_nothing(file: CacheFile, tmp_path: Path) -> None:
    _store(file, "key", {"x": Harmful(tmp_path / "made")})
    assert file.load("key") is None
    assert not (tmp_path / "made").exists()
    for called in (version_digest, Mapping, print, Path.home):  # functions, also of ours, and classes of others
        _store(file, "key", called)
        assert file.load("key") is None, called
    _store(file, "key", Problem)
    assert file.load("key") is Problem


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    file = CacheFile(tmp_path / "file" / "inner", "kind-1")
    file.store("key", VALUE)
    assert file.load("key") is None


def test_a_few_files_of_a_kind_are_kept(tmp_path: Path) -> None:
    for number in range(12):
        CacheFile(tmp_path / "cache", f"kind-{number}").store("key", number)
        os.utime(tmp_path / "cache" / f"kind-{number}", (number, number))
    CacheFile(tmp_path / "cache", "other-1").store("key", 1)
    names = {path.name for path in (tmp_path / "cache").iterdir()}
    assert names == {"other-1", *(f"kind-{number}" for number in range(4, 12))}


def test_the_digest_of_a_version_changes_with_any_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_PACKAGE", tmp_path)
    seen = list[str]()

    def note() -> None:
        seen.append(version_digest.__wrapped__())

    (tmp_path / "inner" / "deep").mkdir(parents=True)
    note()
    for place, text in (("a.py", "1"), ("a.py", "2"), ("inner/a.py", "2"), ("inner/deep/b.html", ""), ("b.py", "1")):
        (tmp_path / place).write_text(text)
        note()
    (tmp_path / "b.py").rename(tmp_path / "c.py")
    note()
    assert len(set(seen)) == len(seen)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_text("x")
    note()
    assert seen[-1] == seen[-2], "what Python itself has compiled says nothing"


def test_a_digest_of_parts_knows_where_one_ends() -> None:
    assert len({joint_digest("a", "b"), joint_digest("ab"), joint_digest("b", "a"), joint_digest("a", "b", "")}) == 4


@pytest.mark.skipif(os.name == "nt", reason="a folder is private by its access list there")
def test_what_others_may_write_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    for mode, is_ours in ((0o600, True), (0o644, True), (0o620, False), (0o602, False)):
        path.chmod(mode)
        if is_ours:
            check_owner(path)
        else:
            with pytest.raises(UnavailableError, match="could have been written by another user"):
                check_owner(path)

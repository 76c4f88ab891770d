"""Hostile files: one sentence each, within limits, and never a traceback."""

import gzip
import json
import pickle
from pathlib import Path

import pytest

from app.core.errors import InputError
from app.core.measurements import packed_files
from app.core.measurements.file_reader import read_files
from app.core.measurements.reports import CollectiveTest, UnreadFile
from app.server.aside import measured_files
from app.server.aside.measured_files import measured_apart
from tests.measurements.printing import rows, today

FILES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "is empty"),
    "blanks": (b" \n\t\n", "is empty"),
    "a pickle": (pickle.dumps({"segments": []}), "is a pickle, such as a snapshot of memory"),
    "a zip": (b"PK\3\4rest", "is a zip archive"),
    "a picture": (b"\x89PNG\r\n", "is a picture"),
    "noughts": (b"a\0b" * 100, "is not text"),
    "another tool's text": (b"total 0\ndrwx 1 root\n", "has no table of nccl-tests"),
    "another tool's JSON": (b'{"benchmarks": [1, 2]}', "is JSON without results of nccl-tests"),
    "an empty list": (b"[]", "is JSON without results"),
    "half of JSON": (b'{"results": [{"size": 8', "line 1: not valid JSON"),
    "deep JSON": (b'{"results":' + b"[" * 100_000, "nested too deeply"),
    "a long number": (b'{"results": [' + b"9" * 10_000 + b"]}", "a number that is too long"),
    "results of texts": (b'{"results": ["size", null, 7, {}]}', "is JSON without results"),
    "half of gzip": (gzip.compress(b"x" * 1000)[:-12], "is cut off or damaged"),
    "no gzip": (b"\x1f\x8bnonsense", "is cut off or damaged"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_be_read_is_one_sentence(name: str, tmp_path: Path) -> None:
    content, says = FILES[name]
    path = tmp_path / "sent"
    path.write_bytes(content)
    (found,) = read_files([path])
    assert isinstance(found, UnreadFile)
    assert found.error.startswith("sent")
    assert says in found.error
    assert "\n" not in found.error


def test_a_folder_and_what_is_not_there_are_one_sentence(tmp_path: Path) -> None:
    found = read_files([tmp_path, tmp_path / "gone"])
    assert [str(one.record()["error"]).partition(": ")[2] for one in found] == [
        "Is a directory",
        "No such file or directory",
    ]


def test_numbers_that_are_none_are_left_out(tmp_path: Path) -> None:
    names = ("nan", "inf", "-5.0", "1e400", "\u0661\u0662")
    wrong = [f"  {8 << n}  {2 << n}  float  sum  -1  {name}  1.0  1.0  0" for n, name in enumerate(names)]
    path = tmp_path / "sent"
    path.write_text("\n".join([*rows("all_reduce", 8, middle=" sum -1 "), *wrong]))
    (test,) = read_files([path])
    assert isinstance(test, CollectiveTest)
    assert min(row.size for row in test.rows) == 4096
    json.dumps(test.record(), allow_nan=False)


def test_a_packed_log_that_is_cut_off_keeps_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "sent"
    path.write_bytes(gzip.compress(today("all_reduce", 8).encode() * 20)[:-9])
    found = read_files([path])
    assert len(found) >= 19
    assert all("cut off" in str(one.record()["doubts"]) for one in found)


def test_names_that_are_scripts_and_escapes_stay_text(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\x1b]0;title\x07"
    text = today("all_reduce", 8).replace("NVIDIA H100 80GB HBM3", evil)
    path = tmp_path / "sent"
    path.write_text(text)
    (test,) = read_files([path])
    assert isinstance(test, CollectiveTest)
    assert test.hardware.startswith("<script>")
    assert test.hardware.isprintable()


def test_a_bomb_is_refused_after_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress(b"completed step: 1\n" * 200_000))
    monkeypatch.setattr(packed_files, "UNPACKED_LIMIT", 1 << 20)
    (found,) = read_files([path])
    assert "holds more than 1 MiB" in str(found.record())


def test_a_packed_file_that_is_too_large_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_files, "PACKED_LIMIT", 8)
    path = tmp_path / "large"
    path.write_bytes(gzip.compress(b"text"))
    (found,) = read_files([path])
    assert "larger than" in str(found.record()["error"])


def test_reading_apart_finds_the_same(tmp_path: Path) -> None:
    path = tmp_path / "sent"
    path.write_text(today("all_gather", 16))
    assert measured_apart([path, tmp_path / "gone"]) == read_files([path, tmp_path / "gone"])


def test_reading_apart_has_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sent"
    path.write_text("\n".join([today("all_gather", 16)] * 2_000))
    assert measured_files.SECONDS == 60
    monkeypatch.setattr(measured_files, "SECONDS", 0.01)
    with pytest.raises(InputError, match="took longer than 0.01 s"):
        measured_apart([path])

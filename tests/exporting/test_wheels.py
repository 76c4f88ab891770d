"""The wheels of an export are those of the table, wherever they come from."""

from pathlib import Path

import pytest

from app.core.errors import InputError, UnavailableError
from app.core.folders import ROOT
from app.exporting.python import PLATFORM, WHEELS, browser_wheels

CORE = next(name for name in WHEELS if PLATFORM in name)


def test_the_wheels_have_the_versions_of_the_constraints() -> None:
    pinned = set((ROOT / "constraints.txt").read_text(encoding="utf-8").split())
    found = ("{}=={}".format(*name.split("-")[:2]).replace("_", "-") for name in WHEELS)
    assert set(found) <= pinned


def test_a_folder_that_lacks_a_wheel_says_how_to_fetch_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing: `pip download .*pydantic_core==") as refused:
        browser_wheels(tmp_path / "cache", tmp_path)
    assert PLATFORM in str(refused.value)


def test_another_wheel_than_the_right_one_is_refused(tmp_path: Path) -> None:
    for name in WHEELS:
        (tmp_path / name).write_bytes(b"something else")
    with pytest.raises(InputError, match="its digest is another"):
        browser_wheels(tmp_path / "cache", tmp_path)


def test_what_pip_fetches_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python, cache = tmp_path / "python", tmp_path / "cache"
    folder = '"$(echo "$@" | sed "s/.*--dest //; s/ .*//")"'
    python.write_text(f"#!/bin/sh\nfor name in {' '.join(WHEELS)}; do echo no > {folder}/$name; done")
    python.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    with pytest.raises(UnavailableError, match="has another digest: try again"):
        browser_wheels(cache)
    assert (cache / "wheels" / CORE).read_text() == "no\n"
    python.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(UnavailableError, match="name the folder with --wheels"):
        browser_wheels(cache)

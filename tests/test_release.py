"""A release has one number, which is the same everywhere, a date, and a recording for upgrades."""

import re
import tomllib
from datetime import date
from importlib.metadata import version

import pytest
import yaml

from app.core.folders import ROOT
from tests.upgrades import record
from tests.upgrades.recordings import recordings

_CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
_HEADINGS = re.findall(r"^## (.+)$", _CHANGELOG, re.MULTILINE)
_RELEASES = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$", _CHANGELOG, re.MULTILINE)


def numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def test_every_release_has_a_number_and_a_date_the_newest_first() -> None:
    assert _HEADINGS[0] == "[Unreleased]"
    assert _HEADINGS[1:] == [f"[{number}] - {day}" for number, day in _RELEASES]
    found = [(date.fromisoformat(day), numbers(number)) for number, day in _RELEASES]
    assert len(found) >= 2
    assert found == sorted(found, reverse=True)
    assert len({number for _, number in found}) == len(found)


def test_the_number_of_the_latest_release_stands_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    kustomization = ROOT / "deploy" / "kubernetes" / "kustomization.yaml"
    (image,) = yaml.safe_load(kustomization.read_text(encoding="utf-8"))["images"]
    number, day = _RELEASES[0]
    assert {project["version"], citation["version"], image["newTag"]} == {number}
    assert str(citation["date-released"]) == day
    assert version("wallclock") == number, "run make again: an older version is installed"


def test_every_release_is_recorded_for_the_test_of_upgrades() -> None:
    recorded = {one.name for one in recordings()}
    assert {number for number, _ in _RELEASES} <= recorded


def test_a_release_is_recorded_only_when_every_sentence_is_translated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(record, "untranslated", lambda: 3)
    monkeypatch.setattr(record, "record", lambda code, folder: pytest.fail("it was recorded"))
    monkeypatch.setattr("sys.argv", ["record"])
    with pytest.raises(SystemExit):
        record.main()
    assert "3 sentences have no translation: `make translations` lists them" in capsys.readouterr().err

"""What a version has left outside of its database is still understood: settings, files, backups."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi.testclient import TestClient
from sqlmodel import select

from app.__main__ import main
from app.server.config import Settings
from app.server.db.session import connect, open_session
from app.server.db.tables import AttemptRow
from app.site import Site
from tests.upgrades.recordings import Recording, recordings
from tests.upgrades.standings import by_content, solved_by, solved_in

pytestmark = pytest.mark.slow(20)
# Settings of earlier versions that are read, and no more.
WITHOUT_EFFECT = ("WALLCLOCK_PICTURES_ALLOWED", "WALLCLOCK_TRUSTED_USER_HEADER")
every = pytest.mark.parametrize("recording", recordings(), ids=lambda one: one.name)


@every
def test_every_setting_is_understood_by_its_old_name(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    given: Mapping[str, str] = recording.told["settings"]
    assert len(given) > 25
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    settings = Settings()
    assert settings.url == given["WALLCLOCK_ADDRESS"]
    assert {
        name: value
        for name, value in given.items()
        if name not in {"WALLCLOCK_URL", *WITHOUT_EFFECT} and text_of(getattr(settings, name[10:].lower())) != value
    } == {}


def text_of(value: object) -> str:
    if isinstance(value, tuple | frozenset):
        return ",".join(map(str, value))
    return "" if value is None else str(value)


@every
def test_the_same_answer_gets_the_same_verdict(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the exercises in `changed.yaml`, which says why."""
    monkeypatch.setenv("WALLCLOCK_DATABASE", f"sqlite:///{tmp_path / 'w.db'}")
    asked, graded = tmp_path / "asked.jsonl", tmp_path / "graded.jsonl"
    lines = [
        {"exercise": one["exercise"], "seed": one["seed"], "answer": stored(one["answer"])}
        for one in recording.attempts
    ]
    asked.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert main(["grade", str(asked), "-o", str(graded)]) == 0
    found = map(json.loads, graded.read_text(encoding="utf-8").splitlines())
    differing = {
        before["exercise"]
        for before, after in zip(recording.attempts, found, strict=True)
        if verdict_before(before) != (after["verdict"], after["score"])
    }
    assert differing == set(reasons(recording)), "correct changed.yaml of this recording"


def verdict_before(attempt: Mapping[str, Any]) -> tuple[str, float]:
    return "correct" if attempt["correct"] else "incorrect", attempt["score"]


def stored(answer: str) -> object:
    """An answer as a form sent it: several fields and lists are stored as JSON."""
    try:
        found = json.loads(answer)
    except ValueError:
        return answer
    return found if isinstance(found, dict | list) else answer


def reasons(recording: Recording) -> Mapping[str, str]:
    text = (recording.folder / "changed.yaml").read_text(encoding="utf-8")
    found: Mapping[str, str] = yaml.safe_load(text) or {}
    assert all(found.values()), "each has a reason"
    return found


@every
def test_an_exported_file_gives_the_same_standings_elsewhere(
    recording: Recording, client: TestClient, site: Site
) -> None:
    files = {"file": ("wallclock.json", recording.progress.encode(), "application/json")}
    reply = client.post("/progress/import", files=files)
    assert reply.status_code in (200, 303), reply.text
    exported = client.get("/progress/export").json()
    assert by_content(exported["attempts"]) == by_content(recording.attempts)
    before = json.loads(recording.progress)
    for name in ("reveals", "predictions", "guesses", "measurements", "known_chapters", "assessed"):
        assert len(exported.get(name, ())) == len(before.get(name, ())), name
    with open_session(site.engine) as session:
        solved = solved_by(session, client.cookies["learner"].partition(".")[0])
    assert solved == solved_in(recording.attempts)


@every
def test_a_backup_can_be_restored(recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backup, database = tmp_path / "backup.db", f"sqlite:///{tmp_path / 'wallclock.db'}"
    recording.restore(backup)
    monkeypatch.setenv("WALLCLOCK_DATABASE", database)
    monkeypatch.setenv("WALLCLOCK_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("WALLCLOCK_SECRET", recording.told["secret"])
    assert main(["restore", str(backup)]) == 0
    engine = connect(database)
    with open_session(engine) as session:
        rows = session.exec(select(AttemptRow)).all()
        kept = {(row.exercise, row.seed, row.answer, row.correct, row.score) for row in rows}
    engine.dispose()
    names = ("exercise", "seed", "answer", "correct", "score")
    assert {tuple(one[name] for name in names) for one in recording.attempts} <= kept

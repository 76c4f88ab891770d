"""A class goes on after an upgrade, whichever version its school comes from."""

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from app.__main__ import main
from app.main import create_app
from app.server.config import Settings
from app.server.db.history import SHOWN
from app.server.db.migrations import migrate
from app.server.db.session import open_session
from app.site import Site
from tests.client import Client
from tests.upgrades.playing import RING, PlayedClass
from tests.upgrades.recordings import Recording, revisions, upgradable
from tests.upgrades.standings import by_content, solved_by, solved_in

pytestmark = pytest.mark.slow(40)

_PEOPLE = "d0130defa7fd"  # the migration that brought classes
_STEP = 12  # at a migration between two recordings, each twelfth exercise is looked at
_ATTEMPT = re.compile(r'<li><span class="(passed|failed)">.*?</span></span>\s*(.+?)\s*<time datetime="([^"]+)">', re.S)
Rows = Mapping[str, frozenset[tuple[object, ...]]]


@dataclass(frozen=True, slots=True)
class Upgraded:
    """A site on the database of *recording*, as it was at *revision*."""

    recording: Recording
    revision: str
    file: Path
    client: TestClient

    @property
    def engine(self) -> Engine:
        """The database of the site."""
        site = self.client.app.state.site  # type: ignore[attr-defined]
        assert isinstance(site, Site)
        return site.engine

    @property
    def told(self) -> Mapping[str, Any]:
        """What the recorded version said; that of its class, if *revision* had classes."""
        if revisions().index(self.revision) >= revisions().index(_PEOPLE):
            return {"class": None, **self.recording.told}
        return {**self.recording.told, "class": None}

    def page(self, path: str, cookies: Mapping[str, str]) -> str:
        """What a browser with *cookies* sees at *path*."""
        self.client.cookies.clear()
        self.client.cookies.update(dict(cookies))
        reply = self.client.get(path, follow_redirects=True)
        assert reply.status_code == 200, (path, reply.status_code)
        return reply.text


def settings_for(recording: Recording, file: Path) -> Settings:
    return Settings(
        database=f"sqlite:///{file}",
        secret=recording.told["secret"],
        runs=file.parent / "runs",
        sandbox_workers=1,
        answers_allowed=0,
    )


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def awake(file: Path) -> None:
    """Let the sessions in *file* be of today: a session ends after half a year."""
    until = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%d %H:%M:%S.%f")
    with closing(sqlite3.connect(file)) as rows, rows:
        if rows.execute("SELECT 1 FROM sqlite_schema WHERE name = 'session'").fetchone():
            rows.execute("UPDATE session SET until = ?", (until,))


def contents(file: Path, columns: Mapping[str, Sequence[str]]) -> Rows:
    with closing(sqlite3.connect(file)) as rows:
        return {
            table: frozenset(rows.execute(f"SELECT {', '.join(names)} FROM {table}"))
            for table, names in columns.items()
        }


def columns_in(file: Path) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    with closing(sqlite3.connect(file)) as rows:
        for table, column in rows.execute(
            "SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c"
            " WHERE s.type = 'table' AND s.name NOT IN ('alembic_version', 'sqlite_sequence')"
        ):
            found[f'"{table}"'].append(f'"{column}"')
    return found


@pytest.fixture(scope="module", params=upgradable(), ids=lambda one: f"{one[1]}-{one[0].name}")
def upgraded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    recording, revision = request.param
    file = tmp_path_factory.mktemp("upgraded") / "wallclock.db"
    recording.restore_at(file, revision)
    awake(file)
    columns = columns_in(file)
    before = contents(file, columns)
    settings = settings_for(recording, file)
    migrate(settings.database)
    assert contents(file, columns) == before
    assert bool(list(file.parent.glob("wallclock.db.before-*"))) == (revision != revisions()[-1])
    with Client(create_app(settings), follow_redirects=False) as client:
        yield Upgraded(recording, revision, file, client)


def test_each_answer_shows_its_verdict_on_its_page(upgraded: Upgraded) -> None:
    whole = upgraded.revision == upgraded.recording.revision
    answers: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for attempt in upgraded.recording.attempts:
        answers[attempt["exercise"]].append(attempt)
    for exercise in sorted(answers)[:: 1 if whole else _STEP]:
        page = upgraded.page(f"/exercises/{exercise}?seed=0", upgraded.told["visitor"])
        newest = sorted(answers[exercise], key=lambda one: one["at"], reverse=True)
        expected = [(one["correct"], moment(one["at"])) for one in newest]
        listed = [(verdict == "passed", moment(at)) for verdict, answer, at in _ATTEMPT.findall(page) if answer.strip()]
        assert listed == expected[:SHOWN], exercise


def test_the_pages_of_a_visitor_show_what_was_done(upgraded: Upgraded) -> None:
    cookies = upgraded.told["visitor"]
    for path in ("/", "/chapters/collectives", "/labs/all-reduce", "/measured", "/progress"):
        upgraded.page(path, cookies)
    exported = json.loads(upgraded.page("/progress/export", cookies))
    assert by_content(exported["attempts"]) == by_content(upgraded.recording.attempts)
    with open_session(upgraded.engine) as session:
        solved = solved_by(session, cookies["learner"].partition(".")[0])
    assert solved == solved_in(upgraded.recording.attempts)


def test_tokens_go_on_and_stay_revoked(upgraded: Upgraded) -> None:
    tokens = upgraded.told["tokens"]
    body = {"exercise": RING, "seed": 7, "answer": "70 ms"}
    for name, expected in (("grader", 200), ("gone", 401)):
        headers = {"Authorization": f"Bearer {tokens[name]}"}
        assert upgraded.client.post("/api/v1/check", json=body, headers=headers).status_code == expected


def as_recorded(now: Any, then: Any) -> Any:
    """What is said *now*, without the keys that *then* were not known."""
    if isinstance(then, dict):
        return {key: as_recorded(now[key], value) for key, value in then.items() if key in now}
    if isinstance(then, list):
        return [*map(as_recorded, now[: len(then)], then), *now[len(then) :]]
    return now


def test_a_class_keeps_its_grades(
    upgraded: Upgraded, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not (played := upgraded.told["class"]):
        return
    monkeypatch.setenv("WALLCLOCK_DATABASE", f"sqlite:///{upgraded.file}")
    monkeypatch.setenv("WALLCLOCK_SECRET", upgraded.told["secret"])
    assert main(["grades", str(played["number"]), "--json"]) == 0
    grades = json.loads(capsys.readouterr().out)
    assert as_recorded(grades, played["grades"]) == played["grades"]
    for token in played["tokens"].values():
        path, headers = (f"/api/v1/classes/{played['number']}/grades", {"Authorization": f"Bearer {token}"})
        assert upgraded.client.get(path, headers=headers).status_code == 200


def test_students_and_teachers_are_still_signed_in(upgraded: Upgraded) -> None:
    if not (played := upgraded.told["class"]):
        return
    number = played["number"]
    for name, cookies in zip(PlayedClass.NAMES, played["students"], strict=True):
        assert name in upgraded.page("/me", cookies)
        upgraded.page(f"/classes/{number}", cookies)
        upgraded.page("/assignments/1", cookies)
    upgraded.client.cookies.clear()
    entered = upgraded.client.post("/sign-in", data={"code": played["code"]})
    assert entered.status_code == 303
    teacher = dict(entered.cookies)
    for path in ("", "/grades", "/grades/1", "/people", "/live", "/settings", "/regrade"):
        upgraded.page(f"/classes/{number}{path}", teacher)

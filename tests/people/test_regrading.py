"""Regrades: a mended exercise judges stored answers again, and nobody loses unless told."""

import asyncio
import json
from collections.abc import Callable, Sequence

import pytest
from fastapi.testclient import TestClient
from sqlmodel import select

from app.__main__ import main
from app.db.people import RegradeRow
from app.db.session import open_session
from app.db.tables import AttemptRow
from app.errors import NotFoundError, UnavailableError
from app.kinds import KINDS
from app.people.assignments import Entry, assignments_of, create_assignment
from app.people.classes import members_of
from app.people.gradebook import cells_of
from app.people.policy import Policy
from app.people.regrading import (
    Regraded,
    Stale,
    classes_with_answers,
    raised_for,
    regraded,
    stale_answers,
)
from app.people.variants import variant_seed
from app.sandbox.runner import Runner
from app.site import Site
from tests.people.crowd import RING, STAGE, Crowd, crowd_of
from tests.people.test_grade_pages import as_, words

Regrade = Callable[..., Regraded]


def stale_in(site: Site, crowd: Crowd, *exercises: str) -> Sequence[Stale]:
    with open_session(site.engine) as session:
        return stale_answers(session, site.secret, site.catalog, crowd.class_id, exercises)


@pytest.fixture
def regrade(site: Site, runner: Runner, loop: asyncio.AbstractEventLoop) -> Regrade:
    def made(crowd: Crowd, *exercises: str, lower: bool = False, store: bool = True) -> Regraded:
        stale = stale_in(site, crowd, *exercises)
        work = regraded(site.engine, stale, site.catalog, runner, lower=lower, store=store)
        return loop.run_until_complete(work)

    return made


def points(site: Site, crowd: Crowd, name: str, exercise: str) -> float:
    with open_session(site.engine) as session:
        cells = cells_of(
            session, site.secret, crowd.assignment, members_of(session, crowd.class_id)
        )
    return cells[crowd.persons[name], exercise].points


def test_a_mended_exercise_raises_and_lowers_only_when_told(site: Site, regrade: Regrade) -> None:
    crowd, now = crowd_of(site, "Bo", "Cleo"), site.clock()
    robbed = crowd.answers("Bo", RING, now, right=False, digest="old", answer=None)
    gifted = crowd.answers(
        "Cleo", RING, now, right=True, digest="old", answer=crowd.mistake("Cleo", RING)
    )
    crowd.answers("Cleo", STAGE, now, right=True)  # by the present version
    assert {one.attempt for one in stale_in(site, crowd)} == {robbed, gifted}
    tried = regrade(crowd, store=False)
    assert (tried.judged, tried.raised, tried.lowered, tried.kept) == (2, 1, 0, ["would be lower"])
    assert points(site, crowd, "Bo", RING) == 0.0
    assert regrade(crowd).raised == 1
    assert (points(site, crowd, "Bo", RING), points(site, crowd, "Cleo", RING)) == (1.0, 1.0)
    assert {one.attempt for one in stale_in(site, crowd)} == {gifted}  # Bo's is settled
    assert regrade(crowd, lower=True).lowered == 1
    assert points(site, crowd, "Cleo", RING) == 0.0
    with open_session(site.engine) as session:
        row = session.get_one(AttemptRow, robbed)
        assert (row.score, row.correct, row.digest) == (0.0, False, "old")  # it never changes
        told = raised_for(session, crowd.assignment, crowd.learners["Bo"])
    assert [(one.exercise, one.before, one.after) for one in told] == [(RING, 0.0, 1.0)]


def test_a_score_never_falls_where_other_numbers_are_drawn(site: Site, regrade: Regrade) -> None:
    crowd = crowd_of(site, "Bo", "Cleo")
    wrong = crowd.mistake("Bo", RING)
    crowd.answers(
        "Bo", RING, site.clock(), right=True, digest="old", answer=wrong, drawn='{"n": "2"}'
    )
    crowd.answers("Cleo", STAGE, site.clock(), right=True, digest="old", answer='["of", "old"]')
    found = regrade(crowd, lower=True)
    assert found.lowered == 0
    assert found.kept[0] == "the exercise draws other values now"
    assert found.kept[1].startswith("cannot be read anymore: ")
    assert points(site, crowd, "Bo", RING) == 1.0


def test_an_exercise_that_is_mended_twice_is_judged_by_the_last_version(
    site: Site, regrade: Regrade
) -> None:
    crowd = crowd_of(site, "Bo")
    number = crowd.answers("Bo", RING, site.clock(), right=True)  # by the present version
    with open_session(site.engine) as session:
        session.add(RegradeRow(attempt=number, digest="between", score=0.0, correct=False))
        session.commit()
    assert points(site, crowd, "Bo", RING) == 0.0
    assert regrade(crowd).raised == 1
    assert points(site, crowd, "Bo", RING) == 1.0


def test_answers_that_count_for_nothing_are_left_alone(site: Site, regrade: Regrade) -> None:
    crowd, other = crowd_of(site, "Bo"), crowd_of(site, "Bo")
    crowd.answers("Bo", RING, site.clock(), right=False, digest="old")
    crowd.answers("Ada Teacher", RING, site.clock(), right=False, digest="old")
    with open_session(site.engine) as session:
        row = session.exec(
            select(AttemptRow).where(AttemptRow.learner == crowd.learners["Bo"])
        ).one()
        row.seed += 1  # practice on another drawing
        session.add(row)
        session.commit()
    assert not stale_in(site, crowd)
    other.answers("Bo", RING, site.clock(), right=False, digest="old")
    assert not stale_in(site, other, STAGE)
    assert regrade(other, RING).raised == 1


def test_a_program_runs_in_the_sandbox_and_without_it_nothing_changes(
    site: Site, regrade: Regrade, loop: asyncio.AbstractEventLoop
) -> None:
    crowd, name = crowd_of(site, "Bo"), KINDS["function"].sample
    with open_session(site.engine) as session:
        create_assignment(
            session, crowd.class_id, "Code", Policy(variants="same"), [Entry(name, 2)]
        )
        session.commit()
    number = _program(site, crowd, name)
    stopped = Runner(site.settings)
    stale = stale_in(site, crowd, name)
    assert [one.attempt for one in stale] == [number]
    with pytest.raises(UnavailableError):
        loop.run_until_complete(regraded(site.engine, stale, site.catalog, stopped))
    with open_session(site.engine) as session:
        assert not session.exec(select(RegradeRow).where(RegradeRow.attempt == number)).all()
    assert regrade(crowd, name).raised == 1


def _program(site: Site, crowd: Crowd, name: str) -> int:
    with open_session(site.engine) as session:
        last = assignments_of(session, crowd.class_id)[-1]
        row = AttemptRow(
            learner=crowd.learners["Bo"], exercise=name,
            seed=variant_seed(site.secret, last.id, name),
            answer=str(site.catalog.exercise(name).right_answer(0)), correct=False, score=0.0,
            digest="old", drawn="{}", at=site.clock(),
        )  # fmt: skip
        session.add(row)
        session.commit()
        return row.id or 0


def test_a_teacher_sees_what_changes_before_it_does(client: TestClient, site: Site) -> None:
    crowd = crowd_of(site, "Bo")
    crowd.answers("Bo", RING, site.clock(), right=False, digest="old")
    assistant = as_(client, crowd, "Tom Assistant")
    assert "1 answer" in words(assistant.get(f"{crowd.href}/regrade").text)
    assert assistant.post(f"{crowd.href}/regrade", data={"exercise": RING}).status_code == 404
    teacher = as_(client, crowd, "Ada Teacher")
    page = words(teacher.post(f"{crowd.href}/regrade", data={"exercise": RING}).text)
    assert "1 score changes" in page
    assert "Bo 0 % 100 %" in page
    assert points(site, crowd, "Bo", RING) == 0.0
    sure = teacher.post(f"{crowd.href}/regrade", data={"exercise": RING, "sure": "yes"})
    assert sure.headers["location"] == f"{crowd.href}/regrade?stored=1"
    assert points(site, crowd, "Bo", RING) == 1.0
    page = words(teacher.get(sure.headers["location"]).text)
    assert "1 score was changed" in page
    assert "No exercise of this class has changed" in page


def test_the_command_lists_then_changes(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    crowd = crowd_of(site, "Bo")
    crowd.answers("Bo", RING, site.clock(), right=False, digest="old")
    monkeypatch.setenv("WALLCLOCK_DATABASE", site.settings.database)
    which = ["regrade", RING, "--class", str(crowd.class_id), "--json"]
    for given, would in (([*which, "--dry-run"], "would be "), (which, "")):
        assert main(given) == 0
        said = capsys.readouterr()
        row = json.loads(said.out)
        assert (row["name"], row["exercise"], row["before"], row["after"]) == ("Bo", RING, 0, 1)
        assert f"1 answer judged again, 1 {would}raised" in said.err
    assert points(site, crowd, "Bo", RING) == 1.0
    assert main(["regrade", "--class", "987654"]) == 1
    assert "there is no class 987654" in capsys.readouterr().err
    with open_session(site.engine) as session, pytest.raises(NotFoundError):
        classes_with_answers(session, 987654)

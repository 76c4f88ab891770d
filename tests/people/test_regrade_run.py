"""Regrades: a mended exercise judges stored answers again, and nobody loses unless told."""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from html import unescape

import pytest
from fastapi.testclient import TestClient
from sqlmodel import select

from app.__main__ import main
from app.classes.pages import regrades
from app.classes.pages.regrades import SoFar, so_far
from app.classes.people import regrade_run
from app.classes.people.assignments import AssignmentEntry, assignments_of, create_assignment
from app.classes.people.classes import Member, Role, members_of
from app.classes.people.counted_answers import variant_seed
from app.classes.people.gradebook import cells_of
from app.classes.people.policy import Policy
from app.classes.people.regrade_run import (
    NewJudgment,
    RegradeResult,
    StaleAnswer,
    classes_with_assignments,
    raised_for,
    regrade_answers,
    stale_answers,
)
from app.core.errors import UnavailableError
from app.course.kinds import KINDS
from app.course.sandbox.runner import Runner
from app.server.db.people import RegradeRow
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import AttemptRow
from app.site import Site
from tests.people.crowd import RING, STAGE, Crowd, crowd_of
from tests.people.test_grade_pages import as_, words

Regrade = Callable[..., RegradeResult]


def stale_in(site: Site, crowd: Crowd, *exercises: str) -> Sequence[StaleAnswer]:
    with open_session(site.engine) as session:
        return stale_answers(session, site.secret, site.catalog, crowd.class_id, exercises)


@pytest.fixture
def regrade(site: Site, runner: Runner, loop: asyncio.AbstractEventLoop) -> Regrade:
    def made(crowd: Crowd, *exercises: str, lower: bool = False, store: bool = True) -> RegradeResult:
        stale = stale_in(site, crowd, *exercises)
        work = regrade_answers(site.engine, stale, site.catalog, runner, lower=lower, store=store)
        return loop.run_until_complete(work)

    return made


def points(site: Site, crowd: Crowd, name: str, exercise: str) -> float:
    with open_session(site.engine) as session:
        cells = cells_of(session, site.secret, crowd.assignment, members_of(session, crowd.class_id))
    return cells[crowd.persons[name], exercise].points


def test_a_mended_exercise_raises_and_lowers_only_when_told(site: Site, regrade: Regrade) -> None:
    crowd, now = crowd_of(site, "Bo", "Cleo"), site.clock()
    robbed = crowd.answers("Bo", RING, now, right=False, digest="old", answer=None)
    gifted = crowd.answers("Cleo", RING, now, right=True, digest="old", answer=crowd.mistake("Cleo", RING))
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
    crowd.answers("Bo", RING, site.clock(), right=True, digest="old", answer=wrong, drawn='{"n": "2"}')
    crowd.answers("Cleo", STAGE, site.clock(), right=True, digest="old", answer='["of", "old"]')
    found = regrade(crowd, lower=True)
    assert found.lowered == 0
    assert found.kept[0] == "the exercise draws other values now"
    assert found.kept[1].startswith("cannot be read anymore: ")
    assert points(site, crowd, "Bo", RING) == 1.0


def test_an_exercise_that_is_mended_twice_is_judged_by_the_last_version(site: Site, regrade: Regrade) -> None:
    crowd = crowd_of(site, "Bo")
    number = crowd.answers("Bo", RING, site.clock(), right=True)  # by the present version
    with open_writing_session(site.engine) as session:
        session.add(RegradeRow(attempt=number, digest="between", score=0.0, correct=False))
        session.commit()
    assert points(site, crowd, "Bo", RING) == 0.0
    assert regrade(crowd).raised == 1
    assert points(site, crowd, "Bo", RING) == 1.0


def test_answers_that_count_for_nothing_are_left_alone(site: Site, regrade: Regrade) -> None:
    crowd, other = crowd_of(site, "Bo"), crowd_of(site, "Bo")
    crowd.answers("Bo", RING, site.clock(), right=False, digest="old")
    crowd.answers("Ada Teacher", RING, site.clock(), right=False, digest="old")
    with open_writing_session(site.engine) as session:
        row = session.exec(select(AttemptRow).where(AttemptRow.learner == crowd.learners["Bo"])).one()
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
    with open_writing_session(site.engine) as session:
        create_assignment(session, crowd.class_id, "Code", Policy(variants="same"), [AssignmentEntry(name, 2)])
        session.commit()
    number = _program(site, crowd, name)
    stopped = Runner(site.settings)
    stale = stale_in(site, crowd, name)
    assert [one.attempt for one in stale] == [number]
    with pytest.raises(UnavailableError):
        loop.run_until_complete(regrade_answers(site.engine, stale, site.catalog, stopped))
    with open_session(site.engine) as session:
        assert not session.exec(select(RegradeRow).where(RegradeRow.attempt == number)).all()
    assert regrade(crowd, name).raised == 1


def _program(site: Site, crowd: Crowd, name: str) -> int:
    with open_writing_session(site.engine) as session:
        last = assignments_of(session, crowd.class_id)[-1]
        row = AttemptRow(
            learner=crowd.learners["Bo"],
            exercise=name,
            seed=variant_seed(site.secret, last.id, name),
            answer=str(site.catalog.exercise(name).right_answer(0)),
            correct=False,
            score=0.0,
            digest="old",
            drawn="{}",
            at=site.clock(),
        )
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


def test_many_answers_are_judged_step_by_step_and_a_run_that_was_left_goes_on(
    client: TestClient, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["Bo", "Cleo", "Dan", "Eve", "Fay"]
    crowd = crowd_of(site, *names)
    for name in names:
        crowd.answers(name, RING, site.clock(), right=False, digest="old")
    crowd.answers("Fay", RING, site.clock(), right=True, digest="old", answer=crowd.mistake("Fay", RING))
    teacher, href = as_(client, crowd, "Ada Teacher"), f"{crowd.href}/regrade"
    monkeypatch.setattr(regrades, "MOST", 2)

    def done(page: str) -> str:
        return unescape(re.findall(r'name="done" value="([^"]*)"', page)[0])

    page = teacher.post(href, data={"exercise": RING}).text
    assert "2 of 6 answers judged again. Nothing is changed yet." in words(page)
    page = teacher.post(href, data={"exercise": RING, "done": done(page)}).text
    assert "4 of 6" in words(page)
    whole = words(teacher.post(href, data={"exercise": RING, "done": done(page)}).text)
    assert "6 answers judged by the present version: 5 scores change" in whole
    assert "1 keeps its score: would be lower" in whole
    assert all(f"{name} 0 % 100 %" in whole for name in names)
    begun = teacher.post(href, data={"exercise": RING, "sure": "yes"}).text  # and left
    assert [points(site, crowd, name, RING) for name in names[:3]] == [1.0, 1.0, 0.0]
    monkeypatch.setattr(site.allowances.answers, "wait", lambda *_: 2.5)
    held = teacher.post(href, data={"exercise": RING, "sure": "yes", "done": done(begun)}).text
    assert "go on in 3 s" in words(held)
    assert 'data-continues="3"' in held
    monkeypatch.undo()
    ends = teacher.post(href, data={"exercise": RING, "sure": "yes", "done": done(held)})
    assert ends.headers["location"] == f"{href}?stored=5"
    assert [points(site, crowd, name, RING) for name in names] == [1.0] * 5
    for broken in ("{", '{"last": -1}', '{"judged": 1e999}', '{"more": 1}'):
        refused = teacher.post(href, data={"exercise": RING, "done": broken})
        assert refused.status_code == 422


def test_a_step_ends_after_some_seconds(
    site: Site, runner: Runner, loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regrade_run, "_AT_ONCE", 1)
    crowd = crowd_of(site, "Bo", "Cleo")
    numbers = [crowd.answers(name, RING, site.clock(), right=False, digest="old") for name in ("Bo", "Cleo")]
    stale = stale_in(site, crowd)
    step = regrade_answers(site.engine, stale, site.catalog, runner, store=False, enough=lambda: True)
    found = loop.run_until_complete(step)
    assert (found.judged, found.last) == (1, numbers[0])


def test_reasons_stay_few_however_many_there_are() -> None:
    step = RegradeResult(judged=60, last=9, kept=[f"reason {n}" + 400 * "x" for n in range(60)])
    found = so_far(SoFar().with_step(step).with_step(step).text())
    assert (sum(found.kept.values()), found.judged, found.last) == (120, 120, 9)
    assert len(found.kept) == 20
    assert found.kept["for other reasons"] == 82
    assert max(map(len, found.kept)) == 300


def judged(number: int, before: float, score: float, why: str = "") -> NewJudgment:
    member = Member(class_id=1, person=7, learner="l7", role=Role.STUDENT, name="Bo")
    stale = StaleAnswer(member, number, RING, 5, "1", "{}", before)
    return NewJudgment(stale=stale, score=score, correct=True, digest="d", why=why)


def test_a_step_adds_to_those_before_and_shows_two_hundred_changes() -> None:
    step = RegradeResult()
    for one in (judged(3, 0.0, 1.0), judged(5, 1.0, 0.5), judged(8, 0.5, 0.5), judged(9, 1.0, 0.0, "would be lower")):
        step.count(one)
    assert (step.judged, step.last, step.raised, step.lowered, step.kept) == (4, 9, 1, 1, ["would be lower"])
    assert [one.stale.attempt for one in step.changes] == [3, 5]
    found = so_far("").with_step(step)
    assert (found.last, found.judged, found.changed, found.lowered) == (9, 4, 2, 1)
    assert [(one.person, one.seed, one.before, one.after) for one in found.found] == [
        (7, 5, 0.0, 1.0),
        (7, 5, 1.0, 0.5),
    ]
    assert found.with_step(RegradeResult()) == found, "a step without an answer goes on where the last one ended"
    many = RegradeResult(judged=300, last=300, changes=[judged(number, 0.0, 1.0) for number in range(300)])
    twice = found.with_step(many)
    assert (twice.judged, twice.changed, len(twice.found), twice.found[0].before) == (304, 302, 200, 0.0)
    assert so_far(twice.text()) == twice


def test_an_answer_that_no_regrade_changed_is_not_told_and_the_last_change_is(site: Site) -> None:
    crowd, now = crowd_of(site, "Bo"), site.clock()
    numbers = [crowd.answers("Bo", RING, now, right=False, score=0.25) for _ in range(3)]
    with open_writing_session(site.engine) as session:
        for number, scores in zip(numbers, ((0.25,), (0.5, 0.75), (0.5, 0.25)), strict=True):
            for place, score in enumerate(scores):
                at = now + timedelta(minutes=number - numbers[0] + 5 * place)
                row = RegradeRow(attempt=number, digest=f"{place}", score=score, correct=False, at=at)
                session.merge(row)
                session.flush()
        told = raised_for(session, crowd.assignment, crowd.learners["Bo"])
        assert [(one.before, one.after) for one in told] == [(0.25, 0.75)]
        assert not raised_for(session, crowd.assignment, "nobody")
        session.rollback()


def test_answers_are_judged_again_after_one_and_only_of_those_who_study(site: Site) -> None:
    crowd, now = crowd_of(site, "Bo"), site.clock()
    first, second = (crowd.answers("Bo", RING, now, right=False, digest="old") for _ in range(2))
    crowd.answers("Tom Assistant", RING, now, right=False, digest="old")
    with open_session(site.engine) as session:
        for after, expected in ((0, [first, second]), (first, [second]), (second, [])):
            found = stale_answers(session, site.secret, site.catalog, crowd.class_id, (), after)
            assert [one.attempt for one in found] == expected
        known = classes_with_assignments(session)
        assert crowd.class_id in known
        assert known == sorted(set(known))


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
    assert "no class '987654' was found" in capsys.readouterr().err
    assert main(["regrade", "--class", "Sistems"]) == 1
    assert "did you mean 'Systems'" in capsys.readouterr().err

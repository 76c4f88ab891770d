"""Classes, rosters, grades, results and tokens from the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.__main__ import main
from app.classes.people.assignments import AssignmentEntry, create_assignment
from app.classes.people.classes import members_of
from app.classes.people.policy import Policy
from app.course.content.catalog import Catalog
from app.server.db.learner_cookie import Grant, Tokens
from app.server.db.session import connect, open_session
from app.server.db.tables import AttemptRow

RING = "collectives/ring-all-reduce-time"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    found = f"sqlite:///{tmp_path / 'data' / 'wallclock.db'}"
    monkeypatch.setenv("WALLCLOCK_DATABASE", found)
    monkeypatch.setenv("WALLCLOCK_URL", "https://example.org")
    return found


def said(capsys: Capture, *arguments: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(list(arguments)) == code
    found = capsys.readouterr()
    return found.out if code == 0 else found.err


def listed(capsys: Capture, *arguments: str) -> Any:
    return json.loads(said(capsys, *arguments, "--json"))


def test_a_class_lives_from_the_first_line_to_its_end(capsys: Capture, tmp_path: Path) -> None:
    made = listed(capsys, "class", "create", "Systems", "--zone", "Europe/Berlin")
    assert made["join"].startswith("https://example.org/join/")
    file = tmp_path / "roster.csv"
    file.write_bytes("id;name\n4711;Ada Løvelace\n4712;=Plato\n".encode("utf-16"))
    dry = said(capsys, "roster", "Systems", str(file), "--dry-run")
    assert "+ Ada Løvelace (4711)" in dry
    assert len(listed(capsys, "roster", "Systems")) == 1
    said(capsys, "roster", "Systems", str(file))
    assert "2 unchanged" in said(capsys, "roster", "1", str(file))
    assert "4712,'=Plato,student" in said(capsys, "roster", "Systems")
    assert listed(capsys, "class", "list")[0]["students"] == 2
    assert "4712,'=Plato,0" in said(capsys, "grades", "Systems")
    assert "SIS User ID" in said(capsys, "grades", "Systems", "--format", "canvas")
    assert "--yes" in said(capsys, "class", "delete", "Systems", code=1)
    said(capsys, "class", "delete", "Systems", "--yes")
    assert listed(capsys, "class", "list") == []


def test_a_roster_with_other_titles_is_read_by_the_columns_that_are_named(capsys: Capture, tmp_path: Path) -> None:
    said(capsys, "class", "create", "Systems")
    file = tmp_path / "list.csv"
    file.write_bytes("Matr.-Nr.;Nachname;Vorname\n017;Müller;Zoë\n018;Ek;Bo\n".encode("cp1252"))
    told = said(capsys, "roster", "Systems", str(file), code=1)
    assert "'Matr.-Nr.', 'Nachname', 'Vorname' are not the titles of Canvas" in told
    assert "--column" in told
    columns = ["--column", "id:Matr.-Nr.", "--column", "last:2", "--column", "first:3"]
    assert main(["roster", "Systems", str(file), *columns, "--dry-run"]) == 0
    found = capsys.readouterr()
    assert "Line 2: id '017', name 'Zoë Müller'" in found.err
    assert "+ Zoë Müller (017)" in found.out
    columns[1] = "id:1"
    later = said(capsys, "roster", "Systems", str(file), *columns, "--first-line", "3", "--dry-run")
    assert later.startswith("+ Bo Ek (018)")
    assert len(listed(capsys, "roster", "Systems")) == 1


def test_mistakes_name_the_nearest(capsys: Capture) -> None:
    said(capsys, "class", "create", "Systems")
    assert "did you mean 'Systems'" in said(capsys, "roster", "System", code=1)
    assert "the time zone 'Berlin' does not exist" in said(capsys, "class", "create", "X", "--zone", "Berlin", code=1)
    assert "2027-07-31" in said(capsys, "token", "create", "a", "--until", "July", code=1)
    says = said(capsys, "token", "create", "a", "--scope", "class", code=1)
    assert "--class" in says
    assert "never be valid" in said(capsys, "token", "create", "a", "--until", "2020-01-01", code=1)


def test_a_token_has_a_scope_and_an_end(capsys: Capture, database: str) -> None:
    said(capsys, "class", "create", "Systems")
    arguments = ("--scope", "class", "--class", "Systems", "--until", "2099-07-31")
    secret = said(capsys, "token", "create", "grader", *arguments).strip()
    one = listed(capsys, "token", "list")[0]
    assert (one["scope"], one["class"], one["until"][:10]) == ("class", 1, "2099-07-31")
    engine = connect(database)
    assert Tokens(engine).grant(secret) == Grant("grader", "class", 1)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE token SET until = '2020-01-01 00:00:00'")
    assert Tokens(engine).grant(secret) is None
    engine.dispose()


def test_results_and_exports_are_graded_again(capsys: Capture, database: str, tmp_path: Path, catalog: Catalog) -> None:
    said(capsys, "class", "create", "Systems")
    file = tmp_path / "roster.csv"
    file.write_text("id,name\n4711,Ada\n")
    said(capsys, "roster", "Systems", str(file))
    engine = connect(database)
    given = [catalog.exercise(RING).right_answer(7), "1 s"]
    with open_session(engine) as session:
        learner = next(m.learner for m in members_of(session, 1) if m.outside_id == "4711")
        create_assignment(session, 1, "Week 1", Policy(variants="many"), [AssignmentEntry(RING, 1.0)])
        for answer in given:
            session.add(
                AttemptRow(
                    learner=learner,
                    exercise=RING,
                    seed=7,
                    answer=str(answer),
                    correct=answer != "1 s",
                    score=float(answer != "1 s"),
                    digest="d",
                    drawn="{}",
                )
            )
        session.commit()
    engine.dispose()
    rows = [json.loads(line) for line in said(capsys, "results", "Systems").splitlines()]
    assert [(row["learner"], row["verdict"]) for row in rows] == [("4711", "correct"), ("4711", "incorrect")]
    attempts = [
        {"exercise": row["exercise"], "seed": 7, "answer": row["answer"], "correct": good}
        for row, good in zip(rows, (True, False), strict=True)
    ]
    for indent in (None, 2):
        export = tmp_path / "export.json"
        export.write_text(json.dumps({"learner": "x", "attempts": attempts}, indent=indent))
        graded = [json.loads(line) for line in said(capsys, "grade", str(export)).splitlines()]
        assert [(row["ref"], row["verdict"], row["expect"]) for row in graded] == [
            (1, "correct", "correct"),
            (2, "incorrect", "incorrect"),
        ]
    attempts[1]["correct"] = True
    export.write_text(json.dumps({"attempts": attempts}))
    assert "2 expected, 1 disagree (lines 2)" in said(capsys, "grade", str(export), code=1)


def test_a_demo_is_made_and_removed(capsys: Capture) -> None:
    demo = listed(capsys, "class", "demo")
    assert demo["students"] > 10
    assert len(said(capsys, "results", str(demo["id"])).splitlines()) == demo["answers"]
    said(capsys, "class", "delete", str(demo["id"]), "--yes")
    assert listed(capsys, "class", "list") == []


def test_groups_of_a_roster_are_printed_and_grades_are_those_of_one(capsys: Capture, tmp_path: Path) -> None:
    said(capsys, "class", "create", "Fall")
    roster = tmp_path / "roster.csv"
    roster.write_text("id,name,section\n1,Ada,Monday\n2,Alan,Tuesday\n3,Edsger,\n")
    said(capsys, "roster", "Fall", str(roster))
    groups = {one["name"]: one["group"] for one in listed(capsys, "roster", "Fall")}
    assert groups == {"Teacher": "", "Ada": "Monday", "Alan": "Tuesday", "Edsger": ""}
    written = said(capsys, "roster", "Fall")
    assert "1,Ada,student,Monday" in written
    roster.write_text(written)
    assert "4 unchanged" in said(capsys, "roster", "Fall", str(roster), "--dry-run")
    (ada,) = listed(capsys, "grades", "Fall", "--group", "Monday")["people"]
    assert (ada["name"], ada["group"]) == ("Ada", "Monday")
    assert "did you mean 'Monday'" in said(capsys, "grades", "Fall", "--group", "Mondy", code=1)

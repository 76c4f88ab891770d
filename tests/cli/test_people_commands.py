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


def test_tokens_are_listed_with_their_scope_and_whether_they_are_valid(capsys: Capture, database: str) -> None:
    said(capsys, "class", "create", "Systems")
    for name, *more in (("a",), ("b", "--until", "2099-07-31"), ("c", "--scope", "class", "--class", "1"), ("d",)):
        said(capsys, "token", "create", name, *more)
    said(capsys, "token", "revoke", "a")
    with connect(database).begin() as connection:
        connection.exec_driver_sql("UPDATE token SET until = '2020-01-01 00:00:00' WHERE name = 'd'")
    rows = [line.split("\t") for line in said(capsys, "token", "list").splitlines()]
    assert [(name, state.rstrip("0123456789-"), scope) for name, _, state, scope in rows] == [
        ("a", "revoked ", "check"),
        ("b", "valid until ", "check"),
        ("c", "valid", "class 1"),
        ("d", "ended ", "check"),
    ]
    assert [state for _, _, state, _ in rows][1:] == ["valid until 2099-07-31", "valid", "ended 2020-01-01"]
    first, second, *_ = listed(capsys, "token", "list")
    assert (bool(first["revoked"]), first["until"]) == (True, None)
    assert (second["revoked"], second["until"]) == (None, "2099-07-31T23:59:59.999999+00:00")  # the last day counts


def test_a_person_is_shown_merged_and_deleted_only_when_told(capsys: Capture, tmp_path: Path) -> None:
    said(capsys, "class", "create", "Systems")
    file = tmp_path / "roster.csv"
    file.write_text("id,name\n4711,Ada\n4712,Alan\n")
    said(capsys, "roster", "Systems", str(file))
    numbers = {one["name"]: str(one["number"]) for one in listed(capsys, "roster", "Systems")}
    assert json.loads(said(capsys, "person", "export", numbers["Ada"]))["person"]["name"] == "Ada"
    for unknown in ("99", str(2**63)):
        assert f"person {unknown} does not exist" in said(capsys, "person", "export", unknown, code=1)
    assert said(capsys, "person", "merge", numbers["Ada"], numbers["Alan"]) == "1\n"
    assert len(listed(capsys, "roster", "Systems")) == 2
    said(capsys, "person", "unmerge", "1")
    assert len(listed(capsys, "roster", "Systems")) == 3
    assert "this deletes Ada with" in said(capsys, "person", "delete", numbers["Ada"], code=1)
    said(capsys, "person", "delete", numbers["Ada"], "--yes")
    assert "Ada" not in {one["name"] for one in listed(capsys, "roster", "Systems")}


def test_a_roster_says_who_is_new_renamed_missing_and_removed(capsys: Capture, tmp_path: Path) -> None:
    said(capsys, "class", "create", "Systems")
    file = tmp_path / "roster.csv"
    file.write_text("id,name\n4711,Ada\n4712,Alan\n4713,Edsger\n")
    said(capsys, "roster", "Systems", str(file))
    file.write_text("id,name\n4711,Ada Lovelace\n4713,Edsger\n4714,Grace\n4714,Grace\n")
    lines = ["+ Grace (4714)", "~ Ada -> Ada Lovelace (4711)", "= line 5 is the same person as line 4", "1 unchanged"]
    told = said(capsys, "roster", "Systems", str(file), "--dry-run").splitlines()
    assert told == [*lines[:3], "? Alan (4712)", lines[3]]
    assert len(listed(capsys, "roster", "Systems")) == 4
    told = said(capsys, "roster", "Systems", str(file), "--remove-missing").splitlines()
    assert told == [*lines[:3], "- Alan (4712)", lines[3]]
    names = {one["name"] for one in listed(capsys, "roster", "Systems")}
    assert names == {"Teacher", "Ada Lovelace", "Edsger", "Grace"}


def test_without_a_public_address_links_are_those_of_this_machine(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WALLCLOCK_URL")
    made = said(capsys, "class", "create", "Systems")
    assert "http://127.0.0.1:8000/join/" in made
    assert "http://127.0.0.1:8000/sign-in with the code " in made
    row = said(capsys, "class", "list").removesuffix("\n").split("\t")
    assert row[:3] == ["1", "Systems", "0"]
    assert len(row) == 4  # not in the archive


def test_answers_to_an_exercise_that_has_changed_are_regraded_and_only_lowered_when_told(
    capsys: Capture, database: str, tmp_path: Path, catalog: Catalog
) -> None:
    said(capsys, "class", "create", "Systems")
    file = tmp_path / "roster.csv"
    file.write_text("id,name\n4711,Ada\n4712,Alan\n")
    said(capsys, "roster", "Systems", str(file))
    right = str(catalog.exercise(RING).right_answer(7))
    drawn = json.dumps(dict(catalog.exercise(RING).draw(7).shown), ensure_ascii=False)  # the values are as they were
    with open_session(connect(database)) as session:
        create_assignment(session, 1, "Week 1", Policy(variants="many"), [AssignmentEntry(RING, 1.0)])
        learners = {member.outside_id: member.learner for member in members_of(session, 1)}
        for outside, answer, score in (("4711", right, 0.0), ("4712", "1 s", 1.0)):
            row: dict[str, Any] = {
                "learner": learners[outside],
                "exercise": RING,
                "seed": 7,
                "answer": answer,
                "digest": "before",
            }
            session.add(AttemptRow(**row, correct=bool(score), score=score, drawn=drawn))
        session.commit()

    def regraded(*more: str) -> tuple[list[Any], str]:
        capsys.readouterr()
        assert main(["regrade", "--json", *more]) == 0
        found = capsys.readouterr()
        return [json.loads(line) for line in found.out.splitlines()], found.err

    rows, says = regraded("--dry-run", "--lower")
    assert [(row["name"], row["before"], row["after"]) for row in rows] == [("Ada", 0.0, 1.0), ("Alan", 1.0, 0.0)]
    assert says == "class 1: 2 answers judged again, 1 would be raised, 1 would be lowered, 0 keep their score\n"
    assert regraded("--dry-run", "overlap/accumulate-to-hide")[0] == []
    rows, says = regraded("--class", "Systems", RING)
    assert [row["name"] for row in rows] == ["Ada"]
    assert says == "class 1: 2 answers judged again, 1 raised, 0 lowered, 1 keep their score\n"
    rows, says = regraded("--lower")
    assert [row["name"] for row in rows] == ["Alan"]
    assert says == "class 1: 1 answer judged again, 0 raised, 1 lowered, 0 keep their score\n"


def test_a_class_is_known_by_its_number_or_its_name_if_that_is_one_of_its_kind(capsys: Capture) -> None:
    for name in ("2", "Same", "Same"):
        said(capsys, "class", "create", name)
    assert "this deletes 'Same'" in said(capsys, "class", "delete", "2", code=1)  # a number comes before a name
    assert "give the number, of 2, 3" in said(capsys, "grades", "Same", code=1)
    assert "no class 'x' was found; `wallclock class list` lists all" in said(capsys, "grades", "x", code=1)


def test_results_are_those_of_a_class_or_of_a_learner(capsys: Capture) -> None:
    said(capsys, "class", "create", "Systems")
    assert said(capsys, "results", "Systems") == said(capsys, "results", "--learner", "token:x") == ""
    for arguments in ((), ("Systems", "--learner", "token:x")):
        assert "give a class, or --learner" in said(capsys, "results", *arguments, code=1)


def test_grades_for_another_system_leave_out_whom_it_cannot_find(capsys: Capture, tmp_path: Path) -> None:
    said(capsys, "class", "create", "Systems")
    file = tmp_path / "roster.csv"
    file.write_text("id,name\n4711,Ada\n,Alan\n,Edsger\n")
    said(capsys, "roster", "Systems", str(file))
    assert main(["grades", "Systems", "--format", "canvas"]) == 0
    found = capsys.readouterr()
    assert found.err == "2 left out, without the id by which canvas finds them\n"
    assert "Alan" not in found.out
    assert main(["grades", "Systems", "-o", str(tmp_path / "grades.csv"), "--format", "excel"]) == 0
    assert capsys.readouterr().err == ""
    assert (tmp_path / "grades.csv").read_bytes().startswith(b"\xef\xbb\xbf")


def test_a_restored_copy_has_what_was_there(capsys: Capture, tmp_path: Path) -> None:
    said(capsys, "class", "create", "Systems")
    copy = str(tmp_path / "copy.db")
    assert main(["backup", copy]) == 0
    assert f"Database and 0 files of lab runs copied to {copy}.\n" in capsys.readouterr().err
    said(capsys, "class", "delete", "Systems", "--yes")
    assert main(["restore", copy]) == 1  # the database has rows
    capsys.readouterr()
    assert main(["restore", copy, "--replace"]) == 0
    assert capsys.readouterr().err.endswith(" rows and 0 files of lab runs restored.\n")
    assert [one["name"] for one in listed(capsys, "class", "list")] == ["Systems"]

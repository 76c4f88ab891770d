"""Progress travels as a file: merged by content, all or nothing, and wary of every file."""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from app.labs.results.analysis import shipped_runs
from app.server.db.assessments import MOST_CHAPTERS
from app.server.db.lab_runs import SENT
from app.server.db.learner_cookie import new_learner, sign
from app.server.db.measurements import REPORT_LIMIT
from app.server.db.personal import MOST
from app.server.db.run_state import RunState
from app.server.db.session import open_writing_session
from app.server.db.tables import Attempt, LabRunRow, Prediction, now
from app.server.db.writer import store
from app.site import Site
from app.site.web.frame.visitor import COOKIE
from app.site.web.progress import FILE_LIMIT
from app.site.web.progress.file import FileError, ReadFile, day_of, imported_run_name, parse_moment, read_file
from tests.each import each
from tests.web.test_faults import failing

RING = "collectives/ring-all-reduce-time"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROW = {
    "exercise": RING, "seed": 0, "answer": "70 ms", "correct": True, "score": 1.0, "hints": 0,
    "revealed": False, "digest": "d", "drawn": "{}", "seconds": 12.5, "at": "2026-03-01T12:00:00Z",
}  # fmt: skip
File = Mapping[str, Any] | bytes


def words(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def take(client: TestClient, file: File, **headers: str) -> Response:
    raw = file if isinstance(file, bytes) else json.dumps(file).encode()
    files = {"file": ("wallclock.json", raw, "application/json")}
    return client.post("/progress/import", files=files, headers=headers)


def counted(answer: Response) -> tuple[int, ...]:
    """How many entries were added, were known, and could not be taken."""
    assert answer.status_code == 303, words(answer.text)
    where = answer.headers["location"]
    found = re.fullmatch(r"/progress\?added=(\d+)&known=(\d+)&left=(\d+)#notice", where)
    assert found
    return tuple(map(int, found.groups()))


def exported(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(client.get("/progress/export").text)
    return found


def rows(client: TestClient) -> dict[str, Any]:
    """What is exported but for whose it is, in an order of its own."""
    found = exported(client)
    lists = ("attempts", "reveals", "predictions", "runs")
    return {name: sorted(found[name], key=json.dumps) for name in lists}


@pytest.fixture
def become(client: TestClient, site: Site) -> Callable[[], str]:
    """Makes the visitor a learner of their own."""

    def new() -> str:
        client.cookies.clear()
        learner = new_learner()
        client.cookies.set(COOKIE, sign(learner, site.secret))
        return learner

    return new


def worked(client: TestClient) -> dict[str, Any]:
    """What a learner exports who has answered, looked at hints, and made a prediction."""
    for answer in ("35 ms", "70 ms"):
        client.post(f"/exercises/{RING}", data={"answer": answer})
    client.post(f"/exercises/{RING}?seed=4", data={"action": "hint"})
    client.post(f"/exercises/{RING}?seed=5", data={"action": "solution"})
    return exported(client)


def test_an_export_can_be_imported_by_a_browser_that_has_nothing(client: TestClient) -> None:
    file = worked(client)
    before = rows(client)
    client.cookies.clear()
    assert counted(take(client, file)) == (4, 0, 0)
    assert rows(client) == before
    assert "Worked solution" in client.get(f"/exercises/{RING}?seed=5").text
    assert "4 entries were added" in words(client.get("/progress?added=4&known=0&left=0").text)


def test_what_is_there_already_is_not_doubled(client: TestClient) -> None:
    file = worked(client)
    before = rows(client)
    assert counted(take(client, file)) == (0, 4, 0)
    assert counted(take(client, {**file, "attempts": 2 * file["attempts"]})) == (0, 6, 0)
    assert rows(client) == before


def test_the_file_of_another_learner_is_merged(client: TestClient, become: Callable[[], str]) -> None:
    become()
    other = worked(client)
    become()
    client.post("/exercises/collectives/ring-or-tree", data={"answer": "depends"})
    own = exported(client)
    assert counted(take(client, other)) == (4, 0, 0)
    answers = [row["answer"] for row in exported(client)["attempts"]]
    assert sorted(answers) == ["35 ms", "70 ms", "depends"]
    assert exported(client)["learner"] == own["learner"] != other["learner"]


def test_the_same_answer_at_another_time_is_another_one(client: TestClient) -> None:
    later = {**ROW, "at": "2026-03-01T12:00:00.000001Z"}
    another = {**ROW, "at": "2026-03-01T13:00:00+01:00"}  # the same moment
    assert counted(take(client, {"attempts": [ROW, later, another]})) == (2, 1, 0)


def test_answers_are_in_the_order_in_which_they_were_given(client: TestClient) -> None:
    client.post(f"/exercises/{RING}", data={"answer": "70 ms"})
    take(client, {"attempts": [{**ROW, "answer": "35 ms", "correct": False, "score": 0.0}]})
    page = words(client.get("/progress").text)
    latest = page[page.index("Latest answers") :]
    assert latest.index("70 ms") < latest.index("35 ms")
    attempts = words(client.get(f"/exercises/{RING}").text)
    assert attempts.index("✓ right 70 ms") < attempts.index("✗ wrong 35 ms")


def test_a_prediction_that_was_made_stays(client: TestClient, site: Site, become: Callable[[], str]) -> None:
    learner = become()
    prediction = Prediction(learner=learner, exercise="a/lab", seed=1, answer='{"time": "1 ms"}')
    store(site.engine, [prediction])
    other = {"exercise": "a/lab", "seed": 1, "answer": '{"time": "2 ms"}', "at": ROW["at"]}
    new = {**other, "seed": 2}
    assert counted(take(client, {"predictions": [other, new]})) == (1, 1, 0)
    found = {row["seed"]: row["answer"] for row in exported(client)["predictions"]}
    assert found == {1: '{"time": "1 ms"}', 2: '{"time": "2 ms"}'}


def test_the_first_exports_said_no_version(client: TestClient) -> None:
    old = {"learner": "ab" * 16, "attempts": [{**ROW, "id": 7}], "reveals": [], "runs": []}
    assert counted(take(client, old)) == (1, 0, 0)


WRONG: list[tuple[File, str]] = [
    (b"", "No file was chosen, or it is empty: choose a file that Export wrote."),
    (b"\x89PNG\r\n\x1a\n\0\0\0", "This is not JSON (expected value at line 1 column 1)"),
    (b"[]", "This is JSON, but not an object with attempts, reveals"),
    (b"{}", "This is JSON without attempts, reveals, predictions, guesses, runs"),
    (b'{"attempts": [NaN]}', "This is not JSON"),
    (b"[" * 100_000, "This is not JSON (recursion limit exceeded"),
    (b'{"attempts": ' + b"9" * 1_000_000 + b"}", "This is not JSON (number out of range"),
    (b'{"attempts": ["\\ud800"]}', "This is not JSON"),
    ({"attempts": 3}, "Attempts is 3, not a list."),
    ({"attempts": [ROW, 3]}, "Attempts[1] is 3, not an object."),
    ({"attempts": [[]] * 20_001}, "Attempts has 20,001 rows: at most 20,000 are read."),
    ({"format": "mynotes", "attempts": []}, 'Format is "mynotes", not \'wallclock progress\''),
    ({"version": 2, "attempts": []}, "Version is 2, and this server reads version 1"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "says"), WRONG)
def test_a_file_of_another_kind_is_refused_with_what_was_expected(client: TestClient, file: File, says: str) -> None:
    answer = take(client, file)
    assert answer.status_code == 422
    assert "Nothing was imported" in answer.text
    assert says in words(answer.text)


FIELDS: list[tuple[Mapping[str, Any], str]] = [
    ({"seed": "0"}, 'Attempts[1].seed must be a whole number, not "0".'),
    ({"seed": -1}, "Attempts[1].seed must be at least 0, not -1."),
    ({"seed": 2**60}, "not 1152921504606846976."),
    ({"correct": "yes"}, 'Attempts[1].correct must be true or false, not "yes".'),
    ({"score": 2}, "Attempts[1].score must be at most 1, not 2."),
    ({"score": float("inf")}, "This is not JSON"),
    ({"seconds": -1.0}, "Attempts[1].seconds must be at least 0, not -1."),
    ({"answer": None}, "Attempts[1].answer must be a string, not null."),
    ({"answer": "\0"}, "the character NUL cannot be stored"),
    ({"answer": "x" * 20_001}, "Attempts[1].answer is too long: at most 20000 characters are read."),
    ({"exercise": ""}, 'Attempts[1].exercise is too short: ""'),
    ({"at": "yesterday"}, 'Attempts[1].at is "yesterday": a time between 2020 and today'),
    ({"at": "2026-03-01T12:00:00"}, "Attempts[1].at"),
    ({"at": "0001-01-01T00:00:00+14:00"}, "Attempts[1].at"),
    ({"at": "2999-01-01T00:00:00Z"}, "Attempts[1].at"),
    ({"at": 12}, "Attempts[1].at is 12: a time between"),
    ({"grade": 1}, "Attempts[1].grade is not known here."),
    ({"<script>": 1}, "Attempts[1].<script> is not known here."),
    ({"__pydantic_self__": 1}, "Attempts[1].__pydantic_self__"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "says"), FIELDS)
def test_a_row_that_is_not_valid_is_named_and_nothing_is_taken(
    client: TestClient, change: Mapping[str, Any], says: str
) -> None:
    bad = json.dumps({"attempts": [ROW, {**ROW, **change}]}).encode()
    answer = take(client, bad)
    assert answer.status_code == 422
    assert says in unescape(" ".join(answer.text.split()))
    assert "<script>" not in answer.text
    assert exported(client)["attempts"] == []


def of_file(**lists: object) -> ReadFile:
    return read_file(json.dumps(lists).encode(), "me")


def test_a_row_of_a_file_is_its_readers_and_counts_in_no_class() -> None:
    (row,) = of_file(attempts=[{**ROW, "id": 9, "learner": "another", "carried": False}]).rows.attempts
    assert (row.learner, row.carried, row.at) == ("me", True, NOON)


def test_a_moment_is_between_2020_and_tomorrow() -> None:
    first, soon = datetime(2020, 1, 1, tzinfo=UTC), now() + timedelta(hours=23)
    assert [parse_moment(at.isoformat()) for at in (first, soon)] == [first, soon]
    assert [day_of(at.date().isoformat()) for at in (first, soon)] == [first.date(), soon.date()]
    for at in (first - timedelta(seconds=1), soon + timedelta(hours=25)):
        with pytest.raises(ValueError, match=r"\.at is"):
            parse_moment(at.isoformat())
        with pytest.raises(ValueError, match=r"\.day is"):
            day_of(at.date().isoformat())


def test_a_file_may_be_as_large_and_have_as_many_rows_as_its_limits_say() -> None:
    chapters = [{"chapter": f"c{number}", "at": ROW["at"]} for number in range(MOST_CHAPTERS + 1)]
    assert of_file(known_chapters=chapters[1:]).rows.count == MOST_CHAPTERS
    with pytest.raises(FileError, match="at most 500 are read"):
        of_file(known_chapters=chapters)
    limits = {"attempts": 20_000, "reveals": 20_000, "predictions": 10_000, "guesses": 5_000, "assessed": 10_000,
              "runs": 500, "measurements": 100}  # fmt: skip
    for name, most in limits.items():
        with pytest.raises(FileError, match=rf"{name} has {most + 1:,} rows: at most {most:,} are read"):
            of_file(**{name: [{}] * (most + 1)})
        with pytest.raises(FileError, match=rf"{name}\[0\]") if name not in ("runs", "measurements") else nullcontext():
            of_file(**{name: [{}] * most})  # as many as are read, all of them wrong
    content = b'{"attempts": []}'
    assert read_file(content.ljust(FILE_LIMIT), "me").rows.count == 0
    with pytest.raises(FileError, match="larger than 8 MiB"):
        read_file(content.ljust(FILE_LIMIT + 1), "me")


def test_what_cannot_be_shown_here_is_left_and_counted() -> None:
    wrong = {"name": "0" * 32, "title": "t", "report": "{}", "at": ROW["at"]}
    others = [{**wrong, "name": "no name"}, {**wrong, "report": " " * (REPORT_LIMIT + 1)}, 3]
    found = of_file(attempts=[ROW], measurements=[wrong, *others], runs=[{"report": "{}"}, {}])
    assert (found.rows.count, found.left) == (1, 6)


def test_a_run_is_known_again_by_when_and_how_it_was_made() -> None:
    report = shipped_runs()[0]
    others = [
        replace(report, at="2026-01-01T00:00:00+00:00"),
        replace(report, seconds=1.25),
        replace(report, backend="x"),
    ]
    assert imported_run_name(replace(report, id="another")) == imported_run_name(report)
    assert len({imported_run_name(one) for one in (report, *others)}) == 4


def test_a_missing_field_is_named(client: TestClient) -> None:
    row = {name: value for name, value in ROW.items() if name != "drawn"}
    assert "Attempts[0].drawn is missing." in words(take(client, {"attempts": [row]}).text)
    no_time = {name: value for name, value in ROW.items() if name != "at"}
    assert "Attempts[0].at is null" in words(take(client, {"attempts": [no_time]}).text)


def test_no_more_than_five_problems_are_listed(client: TestClient) -> None:
    page = take(client, {"attempts": [{}] * 9, "reveals": [{}] * 9}).text
    assert len(re.findall(r"<li>Attempts\[\d\]", page)) == 5
    assert "Reveals" not in page


def test_a_file_that_is_too_large_is_refused(client: TestClient) -> None:
    page = take(client, b" " * FILE_LIMIT + b"{}")
    assert page.status_code == 422
    assert "larger than 8 MiB" in words(page.text)
    assert take(client, b" " * (FILE_LIMIT + (1 << 20))).status_code == 413


def test_a_file_of_a_million_small_things_is_refused_at_the_first(client: TestClient) -> None:
    page = take(client, b'{"attempts":[' + b"{}," * 2_000_000 + b"{}]}")
    assert "Attempts has 2,000,001 rows" in words(page.text)


def test_a_learner_has_a_limit(client: TestClient, site: Site, become: Callable[[], str]) -> None:
    learner = become()
    for part in range(2):
        stored = [
            Attempt.model_validate({**ROW, "learner": learner, "at": NOON + timedelta(seconds=part * MOST + n)})
            for n in range(MOST // 2)
        ]
        store(site.engine, stored)
    answer = take(client, {"attempts": [ROW, {**ROW, "at": "2026-02-01T12:00:00Z"}]})
    assert answer.status_code == 422
    assert "more than 20,000 answers, the limit" in words(answer.text)


def test_a_form_of_another_site_imports_nothing(client: TestClient) -> None:
    answer = take(client, {"attempts": [ROW]}, Origin="https://evil.example")
    assert answer.status_code == 403


def test_a_form_without_a_file_is_told_so(client: TestClient) -> None:
    answer = client.post("/progress/import")
    assert answer.status_code == 422
    assert "No file was chosen" in words(answer.text)


def test_an_import_with_too_many_runs_leaves_nothing(client: TestClient, become: Callable[[], str]) -> None:
    become()  # too many runs are noticed after the answers were looked at
    report = next(one for one in shipped_runs() if one.lab == "all-reduce")
    runs = [{"report": json.dumps({**json.loads(report.as_json()), "seconds": float(n)})} for n in range(1, 52)]
    answer = take(client, {"attempts": [ROW], "runs": runs})
    assert answer.status_code == 422
    assert "more than 50 sent runs" in words(answer.text)
    assert exported(client)["attempts"] == exported(client)["runs"] == []


def test_finished_runs_travel_and_others_are_counted(client: TestClient, site: Site, become: Callable[[], str]) -> None:
    learner = become()
    report = next(one for one in shipped_runs() if one.lab == "all-reduce")
    own = {**json.loads(report.as_json()), "seconds": 4321.5}
    row = LabRunRow(
        name="travels-1", lab="all-reduce", given="{}", backend="gloo", host="here", pool="p",
        learner=learner, state=RunState.DONE, report=json.dumps(own),
    )  # fmt: skip
    failed = LabRunRow(
        name="travels-2", lab="all-reduce", given="{}", backend="gloo", host="here", pool="p2",
        learner=learner, state=RunState.FAILED, says="it failed",
    )  # fmt: skip
    with open_writing_session(site.engine) as session:
        session.add(row)
        session.add(failed)
        session.commit()
    file = exported(client)
    assert len(file["runs"]) == 2
    become()
    # Here, it is on the page of its lab already; the one that failed cannot be compared with anything.
    assert counted(take(client, file)) == (0, 1, 1)
    with open_writing_session(site.engine) as session:
        session.delete(session.merge(row))
        session.commit()
    assert counted(take(client, file)) == (1, 0, 1)
    assert counted(take(client, file)) == (0, 1, 1)
    (found,) = exported(client)["runs"]
    assert found["host"] == SENT
    assert client.get(f"/labs/all-reduce/{found['name']}").status_code == 200


def test_whatever_fails_all_of_a_file_is_taken_or_nothing(client: TestClient, site: Site) -> None:
    reveal = {"exercise": RING, "seed": 0, "number": 1, "at": ROW["at"]}
    prediction = {"exercise": "a/lab", "seed": 1, "answer": "{}", "at": ROW["at"]}
    file = {"attempts": [ROW], "reveals": [reveal], "predictions": [prediction]}
    statuses = set()
    number, met = 0, True
    while met:
        number += 1
        client.cookies.clear()
        client.post(f"/exercises/{RING}", data={"answer": "1 ms"})
        with failing(site.engine, number) as failed:
            statuses.add(take(client, file).status_code)
            met = failed()
        found = exported(client)
        counts = [len(found[name]) for name in ("attempts", "reveals", "predictions")]
        assert counts in ([1, 0, 0], [2, 1, 1])
    assert statuses == {303, 503}
    assert number > 8


GUESS = {"day": "2026-03-01", "question": "q", "answer": "1", "value": 1.0, "at": ROW["at"], "place": 99}


def test_guesses_of_an_earlier_version_travel_and_are_deleted(client: TestClient) -> None:
    assert counted(take(client, {"guesses": [GUESS]})) == (1, 0, 0)
    assert counted(take(client, {"guesses": [{**GUESS, "answer": "2"}]})) == (0, 1, 0)
    assert [one["answer"] for one in exported(client)["guesses"]] == ["1"]
    assert "Export as JSON" in client.get("/progress").text
    client.post("/progress/delete", data={"sure": "yes"})
    assert exported(client)["guesses"] == []


@each(
    ("change", "says"),
    [
        ({"day": "2027-13-01"}, 'guesses[0].day is "2027-13-01": a day such as 2026-03-01'),
        ({"day": 5}, "guesses[0].day is 5"),
        ({"day": "9999-01-01"}, "guesses[0].day"),
        ({"value": -1.0}, "guesses[0].value must be more than 0, not -1"),
        ({"value": "1"}, "guesses[0].value"),
        ({"answer": "\0"}, "guesses[0].answer"),
        ({"more": 1}, "guesses[0].more"),
    ],
)
def test_a_guess_that_was_made_by_hand_is_refused(client: TestClient, change: dict[str, object], says: str) -> None:
    answer = take(client, {"guesses": [{**GUESS, **change}]})
    assert answer.status_code == 422
    assert says.lower() in words(answer.text).lower()

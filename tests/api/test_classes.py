"""Classes over the JSON interface: rosters, assignments, extensions, grades, and who may."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlmodel import select

from app.classes.people.classes import members_of
from app.classes.people.counted_answers import variant_seed
from app.classes.people.csv_rosters import read_roster
from app.server.db.learner_cookie import create_token
from app.server.db.session import open_session
from app.server.db.tables import AttemptRow
from app.site import Site
from tests.api.class_api import CLASSES, RING, Api


def test_a_class_that_is_made_has_a_teacher_with_a_code(made: Callable[[], Api]) -> None:
    api = made()
    row = api.send("GET")
    assert (row["name"], row["zone"], row["students"]) == ("Systems", "Europe/Berlin", 0)
    assert [one["role"] for one in api.send("GET", "/roster")] == ["teacher"]
    page = api.client.get(row["join"].removeprefix("http://testserver"))
    assert page.status_code == 200
    assert "Systems" in page.text


def test_a_token_opens_its_own_class_alone(made: Callable[[], Api], client: TestClient, token: str) -> None:
    one, other = made(), made()
    assert [row["id"] for row in one.send("GET", CLASSES)] == [one.class_id]
    away = one.send("GET", f"{CLASSES}/{other.class_id}/roster", 404)["detail"]
    assert away == one.send("GET", f"{CLASSES}/999999/roster", 404)["detail"]
    assert "scope admin" in one.send("POST", CLASSES, 403, json={"name": "x"})["detail"]
    assert "scope class or admin" in Api(client, token).send("GET", CLASSES, 403)["detail"]
    made_there = other.send("POST", "/assignments", 201, json=assignment())["id"]
    one.send("GET", f"/assignments/{made_there}", 404)
    one.send("DELETE", f"/assignments/{made_there}", 404)
    one.send("PUT", f"/assignments/{made_there}", 404, json=assignment())


def test_a_roster_is_replaced_once_its_difference_is_known(made: Callable[[], Api]) -> None:
    api = made()
    roster = [{"id": "4711", "name": "Ada Lovelace"}, {"id": "4712", "name": "Alan Turing"}]
    dry = api.send("PUT", "/roster?dry_run=true", json=roster)
    assert (dry["applied"], len(dry["added"])) == (False, 2)
    assert len(api.send("GET", "/roster")) == 1
    api.send("PUT", "/roster", json=roster)
    changed = [{"id": "4711", "name": "Ada King"}, {"id": "4711", "name": "Ada again"}]
    found = api.send("PUT", "/roster?remove_missing=true", json=changed)
    assert found["changed"][0]["before"]["name"] == "Ada Lovelace"
    assert (found["doubled"], [one["id"] for one in found["missing"]]) == ([2], ["4712"])
    students = [one for one in api.send("GET", "/roster") if one["role"] == "student"]
    assert [one["name"] for one in students] == ["Ada King"]
    file = api.send("GET", "/roster.csv")
    assert {one.outside_id for one in read_roster(file).entries} == {"", "4711"}
    same = api.send("PUT", "/roster.csv", content=file.encode("utf-16"))
    assert (same["same"], same["added"], same["changed"]) == (2, [], [])


def test_a_program_says_which_column_of_a_file_is_what(made: Callable[[], Api]) -> None:
    api, file = made(), "Kurs 7;;\nMatr.-Nr.;Nachname;Vorname\n017;Müller;Zoë\n1,00E+06;Ek;Bo\n".encode("cp1252")
    told = api.send("PUT", "/roster.csv", 422, content=file)["detail"]
    assert "say which column is what, by title or number" in told
    columns = "column=id:Matr.-Nr.&column=last:2&column=first:Vorname&first_line=3"
    found = api.send("PUT", f"/roster.csv?{columns}&dry_run=true", content=file)
    assert [(one["id"], one["name"]) for one in found["added"]] == [("017", "Zoë Müller")]
    first, second = found["left_out"]
    assert first == "line 1: 'Kurs 7' is not a person"
    assert second.startswith("line 4, column Matr.-Nr.: the id is '1,00E+06', which a spreadsheet has shortened")
    wrong = api.send("PUT", "/roster.csv?column=id:1&column=nam:2", 422, content=file)["detail"]
    assert "did you mean 'name'?" in wrong


def test_one_person_is_added_once(made: Callable[[], Api]) -> None:
    api = made()
    ada = {"id": "4711", "name": "Ada Lovelace"}
    first = api.send("POST", "/roster", 201, json=ada)
    assert api.send("POST", "/roster", json=ada) == first
    renamed = api.send("POST", "/roster", json={**ada, "name": "Ada King", "role": "assistant"})
    assert renamed == {**first, "name": "Ada King", "role": "assistant"}


def test_lists_come_in_pages(made: Callable[[], Api]) -> None:
    api = made()
    api.send("PUT", "/roster", json=[{"id": str(n), "name": f"Student {n}"} for n in range(7)])
    seen: list[str] = []
    path: str | None = f"{CLASSES}/{api.class_id}/roster?limit=3"
    while path:
        answer = api.client.get(path, headers={"Authorization": f"Bearer {api.token}"})
        seen += [one["name"] for one in answer.json()]
        link = answer.headers.get("link", "")
        assert not link or link.endswith('>; rel="next"')
        path = link[1:].partition(">")[0] or None
    assert len(seen) == len(set(seen)) == 8


def assignment(**more: object) -> dict[str, object]:
    exercises = [{"exercise": RING, "points": 4}]
    return {"title": "Ring", "due": "2099-05-07T23:59:00+02:00", "exercises": exercises, **more}


def test_an_assignment_is_made_changed_and_deleted(made: Callable[[], Api]) -> None:
    api = made()
    first = api.send("POST", "/assignments", 201, json=assignment(late=0.1, variants="same"))
    assert (first["points"], first["due"]) == (4.0, "2099-05-07T21:59:00Z")
    path = f"/assignments/{first['id']}"
    changed = api.send("PUT", path, json=assignment(title="Rings"))
    assert (changed["title"], changed["late"], changed["variants"]) == ("Rings", 0.0, "own")
    assert api.send("GET", "/assignments") == [changed] == [api.send("GET", path)]
    api.send("DELETE", path, 204)
    api.send("GET", path, 404)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"exercises": [{"exercise": "collectives/ring-allreduce-time"}]}, "did you mean"),
        ({"exercises": [{"exercise": RING}, {"exercise": RING}]}, "exercises.1.exercise"),
        ({"due": "2099-05-07T23:59:00"}, "body.due"),
        ({"due": "0001-01-01T00:00:00+14:00"}, "a date from 2000 to 2200"),
        ({"exercises": [{"exercise": RING, "points": 1e6}]}, "points must be from 0"),
        ({"opens": "2100-01-01T00:00:00Z"}, "due must not be before opens"),
        ({"late": 1.5}, "late must be from 0 to 1, not 1.5"),
        ({"dues": None}, "body.dues: is not known here; did you mean 'due'?"),
        ({"variants": "mine"}, "body.variants"),
    ],
)
def test_an_assignment_that_is_not_valid_says_where(
    made: Callable[[], Api], change: dict[str, object], says: str
) -> None:
    answer = made().send("POST", "/assignments", 422, json=assignment(**change))
    assert says in answer["detail"]


def test_weights_and_the_lowest_left_out_make_the_overall_grade(made: Callable[[], Api]) -> None:
    api = made()
    api.send("PUT", "/roster", json=[{"id": "4711", "name": "Ada"}])
    first, second = (api.send("POST", "/assignments", 201, json=assignment()) for _ in range(2))
    given = {"people": ["4711"], "points": 1, "why": "oral"}
    api.send("POST", f"/assignments/{first['id']}/overrides", json=given)
    whole = api.send("GET", "/grades")
    ((share, most),) = {(1 / one["points"], one["points"]) for one in whole["assignments"]}
    assert whole["people"][0]["overall_percent"] == pytest.approx(100 / (2 * most))
    rule = {"lowest": 0, "weights": {str(first["id"]): 30.0, str(second["id"]): 10.0}}
    assert api.send("PUT", "/grades/rule", json=rule) == rule == api.send("GET", "/grades/rule")
    grades = api.send("GET", "/grades")
    assert [one["weight"] for one in grades["assignments"]] == [30.0, 10.0]
    assert grades["people"][0]["overall_percent"] == pytest.approx(75 * share)
    back = {"lowest": 1, "weights": {str(first["id"]): None}}
    assert api.send("PUT", "/grades/rule", json=back) == {"lowest": 1, "weights": {}}
    assert api.send("GET", "/grades")["people"][0]["overall_percent"] == pytest.approx(100 * share)
    for wrong, status in (
        ({"lowest": -1}, 422),
        ({"weights": {"0": 1}}, 404),
        ({"drop": 1}, 422),
        ({"weights": {str(first["id"]): 1e9}}, 422),
    ):
        api.send("PUT", "/grades/rule", status, json=wrong)
    assert api.send("GET", "/grades/rule") == {"lowest": 1, "weights": {}}


def test_an_answer_of_a_learner_counts_in_their_grades_and_an_extension_moves_the_date(
    made: Callable[[], Api], site: Site
) -> None:
    api = made()
    person = api.send("POST", "/roster", 201, json={"id": "4711", "name": "=Ada"})["number"]
    one = api.send(
        "POST", "/assignments", 201, json=assignment(due="2026-01-01T00:00:00Z", closes="2026-01-02T00:00:00Z")
    )
    variants = api.send("GET", f"/assignments/{one['id']}/variants")
    assert [row["number"] for row in variants] == [person]
    seed = variants[0]["seeds"][RING]
    with open_session(site.engine) as session:
        learner = {m.person: m.learner for m in members_of(session, api.class_id)}[person]
    assert seed == variant_seed(site.secret, one["id"], RING, learner)
    answer = site.catalog.exercise(RING).right_answer(seed)
    body = {"exercise": RING, "seed": seed, "answer": answer, "learner": "4711", "ref": "r1"}
    result = api.send("POST", "/api/v1/check", json=body)
    assert (result["verdict"], result["ref"]) == ("correct", "r1")
    assert "nobody" in api.send("POST", "/api/v1/check", 422, json={**body, "learner": "471"})["detail"]
    assert api.send("GET", "/grades")["people"][0]["total"] == 0.0
    extensions = f"/assignments/{one['id']}/extensions"
    later = {"people": ["4711"], "until": "2099-01-01T00:00:00Z", "why": "ill"}
    assert "did you mean '4711'" in api.send("POST", extensions, 422, json={**later, "people": ["4712"]})["detail"]
    useless = {**later, "until": "2025-12-31T00:00:00Z"}
    assert "already" in api.send("POST", extensions, 422, json=useless)["detail"]
    given = api.send("POST", extensions, json=later)
    assert given == api.send("GET", extensions)
    assert (given[0]["why"], given[0]["by"][:6]) == ("ill", "token ")
    grades = api.send("GET", "/grades")
    assert grades["people"][0]["points"] == {str(one["id"]): 4.0}
    assert f"{person},4711,'=Ada,4,4" in api.send("GET", "/grades.csv")
    assert '"\'=Ada"' not in api.send("GET", "/grades.csv?format=canvas")
    assert f"number,id,name,{RING},total" in api.send("GET", f"/grades.csv?assignment={one['id']}")
    results = api.send("GET", "/results")
    assert [(row["learner"], row["verdict"]) for row in results] == [("4711", "correct")]
    (at,) = (row["at"] for row in results)
    assert api.send("GET", "/results", params={"since": at}) == results
    after = datetime.fromisoformat(at) + timedelta(microseconds=1)
    assert api.send("GET", "/results", params={"since": after.isoformat()}) == []
    assert api.send("GET", "/results?since=2026-11-29T00:00:00", 422)
    api.send("DELETE", f"{extensions}/{person}", 204)
    assert api.send("GET", "/grades")["people"][0]["total"] == 0.0
    api.send("DELETE", f"{extensions}/{person}", 404)


def test_the_examples_of_the_description_work(made: Callable[[], Api]) -> None:
    api = made()
    schemas = api.client.get("/api/v1/openapi.json").json()["components"]["schemas"]

    def example(name: str) -> Any:
        return schemas[name]["examples"][0]

    api.send("POST", "/roster", 201, json=example("NewPerson"))
    one = api.send("POST", "/assignments", 201, json=example("NewAssignment"))
    api.send("POST", f"/assignments/{one['id']}/extensions", json=example("NewExtension"))
    api.send("POST", f"/assignments/{one['id']}/overrides", json=example("NewOverride"))
    assert example("NewClass")["zone"] == "Europe/Berlin"


def test_an_assignment_that_someone_else_changed_is_not_changed_unseen(made: Callable[[], Api]) -> None:
    api = made()
    number = api.send("POST", "/assignments", 201, json=assignment())["id"]
    path = f"{CLASSES}/{api.class_id}/assignments/{number}"
    bearer = {"Authorization": f"Bearer {api.token}"}
    first = api.client.get(path, headers=bearer).headers["etag"]
    known = {**bearer, "If-Match": first}
    changed = api.client.put(path, headers=known, json=assignment(title="Rings"))
    assert changed.status_code == 200
    assert changed.headers["etag"] not in ("", first)
    late = api.client.put(path, headers=known, json=assignment(title="Trees"))
    assert (late.status_code, late.headers.get("content-type")) == (412, "application/problem+json")
    assert changed.headers["etag"] in late.json()["detail"]
    assert api.client.delete(path, headers=known).status_code == 412
    assert api.send("GET", f"/assignments/{number}")["title"] == "Rings"
    several = {**bearer, "If-Match": f'"other", W/{changed.headers["etag"]}'}
    assert api.client.delete(path, headers=several).status_code == 204


def test_points_are_given_by_hand_listed_and_taken_back(made: Callable[[], Api]) -> None:
    api = made()
    people = [{"id": "4711", "name": "Ada"}, {"id": "4712", "name": "Alan"}]
    api.send("PUT", "/roster", json=people)
    number = api.send("POST", "/assignments", 201, json=assignment())["id"]
    path = f"/assignments/{number}/overrides"
    given = {"people": ["4711", "4712"], "exercise": RING, "points": 3.5, "why": "on paper"}
    found = api.send("POST", path, json={**given, "people": [one["number"] for one in api.send("GET", "/roster")[1:]]})
    assert "body.people.0" in api.send("POST", path, 422, json={**given, "people": [True]})["detail"]
    assert [(one["id"], one["exercise"], one["points"]) for one in found] == [("4711", RING, 3.5), ("4712", RING, 3.5)]
    assert (found[0]["why"], found[0]["by"][:6]) == ("on paper", "token ")
    assert api.send("GET", path) == found
    api.send("POST", path, json={**given, "people": ["4712"], "exercise": None, "points": 1})
    assert [one["total"] for one in api.send("GET", "/grades")["people"]] == [3.5, 1.0]
    ada = found[0]["number"]
    assert [one["id"] for one in api.send("GET", f"{path}?limit=1")] == ["4711"]
    api.send("DELETE", f"{path}/{ada}", 404)
    api.send("DELETE", f"{path}/{ada}?exercise={RING}", 204)
    assert [one["number"] for one in api.send("GET", path)] == 2 * [found[1]["number"]]
    assert api.send("POST", path, json={**given, "points": None})[0]["exercise"] is None
    for change, says in (
        ({"why": " "}, "give a reason"),
        ({"points": -1}, "body.points"),
        ({"points": 1001}, "body.points"),
        ({"points": True}, "body.points"),
        ({"exercise": f"{RING}s"}, "did you mean"),
        ({"people": ["471"]}, "nobody in this class"),
        ({"people": [""]}, "nobody in this class is called ''"),
    ):
        assert says in api.send("POST", path, 422, json={**given, **change})["detail"]


def test_a_file_of_grades_is_imported_once_its_difference_is_known(made: Callable[[], Api]) -> None:
    api = made()
    api.send("PUT", "/roster", json=[{"id": "4711", "name": "Ada"}, {"id": "4712", "name": "Bo"}])
    number = api.send("POST", "/assignments", 201, json=assignment())["id"]
    file = "id;name;Ring\n4711;Ada;2,5\n4713;Nobody;1\n4712;Bo;1001\n"
    dry = api.send("PUT", "/grades.csv?dry_run=true", content=file.encode("utf-16"))
    assert (dry["applied"], dry["same"], len(dry["left_out"])) == (False, 0, 2)
    change = {"id": "4711", "assignment": number, "exercise": None, "before": None, "after": 2.5}
    assert dry["changes"][0].items() >= change.items()
    assert api.send("GET", "/grades")["people"][0]["total"] == 0.0
    assert "give a reason" in api.send("PUT", "/grades.csv", 422, content=file)["detail"]
    assert api.send("PUT", "/grades.csv?why=oral", content=file)["applied"]
    assert api.send("GET", "/grades")["people"][0]["total"] == 2.5
    again = api.send("PUT", "/grades.csv?dry_run=true", content=api.send("GET", "/grades.csv"))
    assert (again["changes"], again["same"]) == ([], 1)
    for form, code in (("ours", 200), ("excel", 200), ("canvas", 422), ("moodle", 422)):
        written = api.send("GET", f"/grades.csv?format={form}")
        found = api.send("PUT", "/grades.csv?dry_run=true", code, content=written)
        assert found.get("changes", []) == []
    assert "this is a file of Moodle; points are read from Wallclock's own file alone" in found["detail"]


def test_a_class_is_archived_and_deleted_by_its_name(made: Callable[[], Api], site: Site) -> None:
    api = made()
    assert api.send("PUT", "/archive").items() >= {"archived": True, "joining": "closed"}.items()
    assert api.send("DELETE", "/archive")["archived"] is False
    assert "scope admin" in api.send("DELETE", "?name=Systems", 403)["detail"]
    with open_session(site.engine) as session:
        admin = Api(api.client, create_token(session, "deletes", "admin"), api.class_id)
    assert "type the name 'Systems'" in admin.send("DELETE", "", 422)["detail"]
    admin.send("DELETE", "?name=systems", 204)
    admin.send("GET", "", 404)
    assert api.client.get(CLASSES, headers={"Authorization": f"Bearer {api.token}"}).status_code in (200, 401)


def learners(site: Site, answer: str) -> list[str]:
    with open_session(site.engine) as session:
        return list(session.exec(select(AttemptRow.learner).where(AttemptRow.answer == answer)))


def test_a_label_of_a_grader_is_stored_apart_and_never_as_a_person(client: TestClient, site: Site, token: str) -> None:
    api, answer = Api(client, token), "61.25 ms"
    for label in ("Ada", "a" * 255):
        body = {"exercise": RING, "answer": answer, "learner": label}
        assert api.send("POST", "/api/v1/check", json=body)["learner"] == label
    first, second = learners(site, answer)
    assert first == "token:tests/Ada"
    assert second.startswith("token:tests#")
    assert len(second) <= 64
    body["learner"] = ""
    assert "body.learner" in api.send("POST", "/api/v1/check", 422, json=body)["detail"]


def test_an_id_that_two_classes_have_is_refused_to_a_token_of_both(
    made: Callable[[], Api], client: TestClient, site: Site
) -> None:
    numbers = []
    for api in (made(), made()):
        ada = {"id": "twice", "name": "Ada"}
        numbers.append(api.send("POST", "/roster", 201, json=ada)["number"])
    with open_session(site.engine) as session:
        admin = Api(client, create_token(session, "of both", "admin"))
    body = {"exercise": RING, "answer": "62.25 ms", "learner": "twice"}
    refused = admin.send("POST", "/api/v1/check", 422, json=body)
    assert "send the number" in refused["detail"]
    assert learners(site, "62.25 ms") == []
    admin.send("POST", "/api/v1/check", json={**body, "learner": str(numbers[1])})
    assert admin.send("POST", "/api/v1/check", json={**body, "learner": numbers[1]})["learner"] == str(numbers[1])
    assert len(learners(site, "62.25 ms")) == 2


def test_an_assignment_can_be_put_and_posted_back_as_get_gave_it(made: Callable[[], Api]) -> None:
    api = made()
    number = api.send("POST", "/assignments", 201, json=assignment(late=0.1, hints="cost"))["id"]
    path = f"/assignments/{number}"
    given = api.send("GET", path)
    assert api.send("PUT", path, json=given) == given
    again = api.send("POST", "/assignments", 201, json=given)
    assert again == {**given, "id": again["id"]}
    assert again["id"] != number


def test_what_get_gives_is_refused_where_it_does_not_agree(made: Callable[[], Api]) -> None:
    api = made()
    given = api.send("POST", "/assignments", 201, json=assignment())
    path = f"/assignments/{given['id']}"
    other = api.send("PUT", path, 422, json={**given, "id": given["id"] + 1})
    assert f"this is assignment {given['id']}" in other["detail"]
    exercises = [{**one, "points": 3.5} for one in given["exercises"]]
    assert api.send("PUT", path, json={**given, "exercises": exercises})["points"] == 3.5 * len(exercises)
    api.send("PUT", path, json=given)
    total = api.send("PUT", path, 422, json={**given, "points": 5})
    assert "the sum of the exercises, which is 4, not 5" in total["detail"]


def test_a_roster_can_be_put_back_as_get_gave_it(made: Callable[[], Api]) -> None:
    api = made()
    api.send("PUT", "/roster", json=[{"id": "1", "name": "Ada"}, {"id": "2", "name": "Ada"}])
    given = api.send("GET", "/roster")
    found = api.send("PUT", "/roster", json=given)
    assert (found["added"], found["changed"], found["same"]) == ([], [], len(given))


def test_a_person_with_a_number_is_renamed_and_gets_another_id(made: Callable[[], Api]) -> None:
    api = made()
    one = api.send("POST", "/roster", 201, json={"id": "10", "name": "Ada"})
    api.send("POST", "/roster", 201, json={"id": "2", "name": "Grace"})
    assert api.send("POST", "/roster", json=one) == one
    changed = {**one, "id": "3", "name": "Ada Lovelace"}
    assert api.send("POST", "/roster", json=changed) == changed
    taken = api.send("PUT", "/roster", 422, json=[{**one, "id": "2"}])
    assert "the id '2' is that of Grace" in taken["detail"]
    nobody = api.send("PUT", "/roster", 422, json=[{**one, "number": one["number"] + 1_000}])
    assert "nobody in this class has the number" in nobody["detail"]


def test_assignments_are_copied_into_a_class_that_the_token_opens(made: Callable[[], Api], site: Site) -> None:
    old, new = made(), made()
    source = old.send("POST", "/assignments", 201, json=assignment(due="2098-10-02T21:59:00Z"))
    body = {"source": old.class_id, "start": "2099-04-15"}
    new.send("POST", "/copies", 404, json=body)  # a token of one class
    with open_session(site.engine) as session:
        admin = replace(new, token=create_token(session, f"copies {new.class_id}", "admin"))
    dry = admin.send("POST", "/copies?dry_run=true", json=body)
    assert (dry["applied"], dry["weeks"], dry["copies"][0]["id"]) == (False, 28, None)
    assert new.send("GET", "/assignments") == []
    done = admin.send("POST", "/copies", json=body)
    (one,) = done["copies"]
    assert (one["source"], one["due"]) == (source["id"], "2099-04-16T21:59:00Z")
    (there,) = new.send("GET", "/assignments")
    assert there == {**source, "id": one["id"], "due": one["due"]}
    other = admin.send("POST", "/copies", 404, json={**body, "assignments": [one["id"]]})
    assert f"no assignment {one['id']}" in other["detail"]


def test_a_token_of_a_class_copies_in_it(made: Callable[[], Api]) -> None:
    api = made()
    first = api.send("POST", "/assignments", 201, json=assignment())
    body = {"source": api.class_id, "assignments": [first["id"]], "weeks": 1}
    (copy,) = api.send("POST", "/copies", json=body)["copies"]
    assert [one["due"] for one in api.send("GET", "/assignments")] == [first["due"], copy["due"]]


def test_statistics_of_a_class_are_sent(made: Callable[[], Api]) -> None:
    api = made()
    api.send("POST", "/roster", 201, json={"id": "4711", "name": "Ada"})
    number = api.send("POST", "/assignments", 201, json=assignment())["id"]
    assert api.send("GET", "/statistics") == []
    (one,) = api.send("GET", f"/assignments/{number}/variants")
    check = {"exercise": RING, "seed": one["seeds"][RING], "answer": "1 s", "learner": "4711"}
    api.send("POST", "/api/v1/check", json=check)
    (whole,) = api.send("GET", "/statistics")
    assert (whole["assignment"], whole["exercise"]) == (number, RING)
    assert (whole["students"], whole["first_try"], whole["answers"]) == (1, 0.0, 1.0)


def test_the_interface_excuses_and_takes_it_back(made: Callable[[], Api]) -> None:
    api = made()
    api.send("PUT", "/roster", json=[{"id": "4711", "name": "Ada", "time_factor": 1.5}])
    assert [one["time_factor"] for one in api.send("GET", "/roster")] == [1.0, 1.5]
    one = api.send(
        "POST",
        "/assignments",
        201,
        json={"title": "Week 1", "exercises": [{"exercise": "collectives/ring-all-reduce-time"}]},
    )["id"]
    place = f"/assignments/{one}/overrides"
    assert (
        "what is excused has no points"
        in api.send("POST", place, 422, json={"people": ["4711"], "points": 1, "excused": True, "why": "ill"})["detail"]
    )
    (held,) = api.send("POST", place, json={"people": ["4711"], "excused": True, "why": "ill"})
    assert (held["points"], held["excused"], held["exercise"]) == (None, True, None)
    (ada,) = api.send("GET", "/grades")["people"]
    assert (ada["points"], ada["excused"], ada["overall_percent"]) == ({str(one): None}, [one], None)
    api.send("DELETE", f"{place}/{ada['number']}", 204)
    assert api.send("GET", "/grades")["people"][0]["excused"] == []


def test_nothing_of_another_class_is_reached_by_its_number(made: Callable[[], Api]) -> None:
    one, other = made(), made()
    for api in (one, other):
        api.send("PUT", "/roster", json=[{"id": "1", "name": "Ada"}, {"id": "2", "name": "Ada again"}])
    week = other.send("POST", "/assignments", 201, json=assignment(due="2097-05-07T21:59:00Z"))["id"]
    ada = next(row["number"] for row in other.send("GET", "/roster") if row["id"] == "1")
    merge = other.send("POST", "/merges", 201, json={"kept": "1", "gone": "2"})["id"]
    until = {"people": ["1"], "until": "2097-06-07T21:59:00Z"}
    points = {"people": ["1"], "points": 1.0, "why": "oral"}
    other.send("POST", f"/assignments/{week}/extensions", json=until)
    other.send("POST", f"/assignments/{week}/overrides", json=points)
    for method, path, body in (
        ("GET", f"/assignments/{week}/variants", None),
        ("GET", f"/assignments/{week}/extensions", None),
        ("POST", f"/assignments/{week}/extensions", until),
        ("DELETE", f"/assignments/{week}/extensions/{ada}", None),
        ("GET", f"/assignments/{week}/overrides", None),
        ("POST", f"/assignments/{week}/overrides", points),
        ("DELETE", f"/assignments/{week}/overrides/{ada}", None),
        ("GET", f"/roster/{ada}", None),
        ("DELETE", f"/roster/{ada}", None),
        ("DELETE", f"/merges/{merge}", None),
        ("POST", "/copies", {"source": other.class_id}),
    ):
        one.send(method, path, 404, **({} if body is None else {"json": body}))
    assert [row["number"] for row in other.send("GET", f"/assignments/{week}/extensions")] == [ada]
    assert [row["points"] for row in other.send("GET", f"/assignments/{week}/overrides")] == [1.0]
    assert [row["id"] for row in other.send("GET", "/merges")] == [merge]
    assert one.send("GET", "/merges") == []
    mine = one.send("POST", "/assignments", 201, json=assignment(due="2097-05-07T21:59:00Z"))["id"]
    for path, body in (("extensions", until), ("overrides", points)):
        said = one.send("POST", f"/assignments/{mine}/{path}", 422, json={**body, "people": [str(ada)]})["detail"]
        assert "nobody in this class is called" in said


def test_an_id_names_its_member_before_a_number_does(made: Callable[[], Api]) -> None:
    api = made()
    api.send("PUT", "/roster", json=[{"id": "1", "name": "Ada"}])
    ada = next(row["number"] for row in api.send("GET", "/roster") if row["id"] == "1")
    api.send("PUT", "/roster", json=[{"id": str(ada), "name": "Bo"}])
    week = api.send("POST", "/assignments", 201, json=assignment())["id"]
    given = {"people": [str(ada)], "points": 1.0, "why": "oral"}
    assert [row["name"] for row in api.send("POST", f"/assignments/{week}/overrides", json=given)] == ["Bo"]


def test_a_page_of_a_list_links_to_the_next_only_if_there_is_one(made: Callable[[], Api]) -> None:
    api = made()
    api.send("PUT", "/roster", json=[{"id": str(place), "name": f"S{place}"} for place in range(3)])
    numbers = [row["number"] for row in api.send("GET", "/roster")]
    for limit, after, expected in ((3, 0, numbers[:3]), (4, 0, numbers), (3, numbers[0], numbers[1:])):
        answer = api.client.get(
            f"{CLASSES}/{api.class_id}/roster",
            params={"limit": limit, "after": after},
            headers={"Authorization": f"Bearer {api.token}"},
        )
        assert [row["number"] for row in answer.json()] == expected
        assert ("link" in answer.headers) is (expected[-1] != numbers[-1])

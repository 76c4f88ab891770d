"""Errors are described as they are sent."""

import asyncio
import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from jsonschema import Draft202012Validator

from app.commands.drawings import lines
from app.course.content.catalog import Catalog
from app.server.config import Settings
from app.server.db.learner_cookie import create_token
from app.server.db.session import open_session
from app.site import Site
from app.site.grading.offline import FileGrader, VerdictTally, gradable_lines
from tests.each import each
from tests.parts import CALLS

RING = "collectives/ring-all-reduce-time"
JSON = {"Content-Type": "application/json"}
PROBLEM = "application/problem+json"
Bearer = dict[str, str]


@pytest.fixture
def described(client: TestClient) -> Any:
    return client.get("/api/v1/openapi.json").json()


def operations(described: Any) -> Iterator[tuple[str, str, Any]]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def test_every_error_of_every_operation_is_a_problem_document(described: Any) -> None:
    seen = 0
    for path, method, operation in operations(described):
        errors = {s: r for s, r in operation["responses"].items() if s == "default" or s >= "400"}
        assert "default" in errors, (path, method)
        for status, answer in errors.items():
            assert list(answer["content"]) == [PROBLEM], (path, method, status)
            schema = answer["content"][PROBLEM]["schema"]
            assert schema == {"$ref": "#/components/schemas/ProblemDocument"}
            seen += 1
    assert seen >= 20
    assert not {"HTTPValidationError", "ValidationError"} & set(described["components"]["schemas"])


def test_every_reference_in_the_description_resolves(described: Any) -> None:
    def references(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            yield from (v for k, v in value.items() if k == "$ref")
            for inner in value.values():
                yield from references(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from references(inner)

    known = described["components"]["schemas"]
    for reference in references(described):
        assert reference.rpartition("/")[2] in known


def errors_of(client: TestClient, bearer: Bearer) -> Iterator[tuple[str, str, Any]]:
    check = "/api/v1/check"
    good = {"exercise": RING, "answer": "1"}
    twisted = {**bearer, "Idempotency-Key": "a b"}
    yield check, "post", client.post(check, json=good)
    yield check, "post", client.post(check, json=good, headers=twisted)
    yield check, "post", client.post(check, json={}, headers=bearer)
    yield check, "post", client.post(check, content=b"{", headers=bearer)
    yield check, "post", client.post(check, json={**good, "exercise": "a/b"}, headers=bearer)
    yield check, "post", client.post(check, json={**good, "answer": "1" * 30_000}, headers=bearer)
    yield check, "post", client.post(check, json=good, headers={**bearer, "A": "a" * 20_000})
    yield f"{check}/batch", "post", client.post(f"{check}/batch", content=b"")
    shown = "/api/v1/exercises/{id}"
    yield shown, "get", client.get("/api/v1/exercises/a/b")
    yield shown, "get", client.get(f"/api/v1/exercises/{RING}?seed=-1")
    yield shown, "get", client.get(f"/api/v1/exercises/{RING}?seed=%00")
    formula = "/api/v1/formulas/{name}"
    yield formula, "post", client.post("/api/v1/formulas/a.b", json={})
    yield formula, "post", client.post("/api/v1/formulas/collectives.ring_all_reduce_time", json={})
    yield formula, "post", client.post("/api/v1/formulas/a.b", content=b"[")


def test_real_errors_are_as_described(client: TestClient, bearer: Bearer, described: Any) -> None:
    schema = described["components"]["schemas"]["ProblemDocument"]
    elsewhere = {"400", "431"}  # of the address or the headers: "any other error"
    validator, statuses = Draft202012Validator(schema), set()
    for path, method, answer in errors_of(client, bearer):
        documented = described["paths"][path][method]["responses"]
        status = str(answer.status_code)
        assert status in documented or status in elsewhere, (path, method, status)
        assert answer.headers["content-type"] == PROBLEM
        validator.validate(answer.json())
        assert answer.json()["status"] == answer.status_code
        statuses.add(answer.status_code)
    assert statuses >= {400, 401, 404, 413, 422, 431}


def test_real_verdicts_are_as_described(client: TestClient, bearer: Bearer, described: Any) -> None:
    operation = described["paths"]["/api/v1/check"]["post"]
    schema = {**operation["responses"]["200"]["content"]["application/json"]["schema"]}
    validator = Draft202012Validator({**schema, "components": described["components"]})
    asked = operation["requestBody"]["content"]["application/json"]["schema"]
    asks = Draft202012Validator({**asked, "components": described["components"]})
    for answer in ("70 ms", "70 GB", 70, 1.5, ["a"], {"a": "1"}):
        body = {"exercise": RING, "seed": 7.0, "answer": answer}
        asks.validate(body)
        reply = client.post("/api/v1/check", json=body, headers=bearer)
        assert reply.status_code == 200
        validator.validate(reply.json())


def test_a_check_says_what_it_needs(described: Any) -> None:
    operation = described["paths"]["/api/v1/check"]["post"]
    assert operation["security"] == [{"HTTPBearer": []}]
    assert "HTTPBearer" in described["components"]["securitySchemes"]
    assert [one["name"] for one in operation["parameters"]] == ["Idempotency-Key"]


def test_the_error_for_a_body_that_is_not_json_says_so(client: TestClient, bearer: Bearer) -> None:
    headers = {**bearer, "Content-Type": "text/plain"}
    answer = client.post("/api/v1/check", content=b"{}", headers=headers)
    assert answer.status_code == 422
    assert "application/json" in answer.json()["detail"]


# What generated clients call the operations: a change of one of these breaks their programs.
IDS = {
    "check_one", "check_many", "list_exercises", "show_exercise", "list_chapters", "draw_final", "set_parameters",
    "list_formulas", "evaluate_formula", "predict_many", "livez", "readyz", "healthz", "read_metrics",
    "list_classes", "make_class", "get_class", "remove_class", "put_into_archive", "take_from_archive",
    "get_roster", "put_roster", "add_person", "get_roster_file", "put_roster_file", "get_everything",
    "remove_person", "list_merges", "merge_students", "undo_students_merge",
    "list_assignments", "make_assignment", "get_assignment", "put_assignment", "remove_assignment",
    "list_variants", "list_extensions", "give_extensions", "end_extension", "list_overrides", "give_points",
    "take_points_back", "get_grades", "get_grades_file", "put_grades_file", "get_results",
    "get_grade_rule", "put_grade_rule",
}  # fmt: skip


def test_operations_have_short_names_that_stay(described: Any) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(described)]
    assert len(ids) == len(set(ids))
    assert not IDS - set(ids)
    assert all(name.isidentifier() and len(name) <= 24 for name in ids)


def test_every_route_is_in_the_description(described: Any) -> None:
    served = {
        (route.path_format, method.lower())
        for part in CALLS
        for route in part.router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    assert {(path, method) for path, method, _ in operations(described)} == served - {("/api/v1/openapi.json", "get")}


def test_a_generated_client_can_send_every_body(described: Any) -> None:
    """The generators know these types, and leave out a call that takes none of them."""
    known = {"application/json", "application/octet-stream", "multipart/form-data"}
    bodies = [one["requestBody"]["content"] for _, _, one in operations(described) if "requestBody" in one]
    assert len(bodies) > 8
    assert [body for body in bodies if not known & set(body)] == []


def test_a_method_that_is_not_allowed_is_answered_with_all_that_are(client: TestClient, bearer: Bearer) -> None:
    for path, allowed in (
        ("/api/v1/classes", "GET, HEAD, POST"),
        ("/api/v1/classes/1/roster", "GET, HEAD, POST, PUT"),
        ("/api/v1/check", "POST"),
        ("/api/v1/exercises", "GET, HEAD"),
        ("/sign-in", "GET, HEAD, POST"),
    ):
        answer = client.request("PATCH", path, headers=bearer)
        assert answer.status_code == 405, path
        assert answer.headers["allow"] == allowed, path


@each(
    ("body", "says"),
    [
        ({"exercise": RING}, "answer: is missing"),
        ({"exercise": RING, "answer": "1", "sed": 0}, "sed: is not known here; did you mean 'seed'?"),
        ({"exercise": 7, "answer": "1"}, "exercise: must be a string, not 7"),
        ({"exercise": RING, "answer": "1", "seed": 1.5}, "seed: must be a whole number, not 1.5"),
        ({"exercise": RING, "answer": "1", "seed": -1}, "seed: must be at least 0, not -1"),
        ({"exercise": RING, "answer": None}, "answer: must be a string, a whole number, a number, a list or an object, not null"),
        ({"exercise": RING, "answer": ["a", 1]}, "answer.1: must be a string, not 1"),
        ({"exercise": RING, "answer": {"a": []}}, "answer.a: must be a string or a number, not []"),
        ({"exercise": RING, "answer": "1", "learner": ""}, 'learner: is too short: ""; the fewest characters are 1'),
        ([1], "must be an object, not [1]"),
    ],
)  # fmt: skip
def test_all_doors_use_the_same_words(
    client: TestClient, bearer: Bearer, catalog: Catalog, body: Any, says: str
) -> None:
    line = json.dumps(body)
    one = client.post("/api/v1/check", json=body, headers=bearer).json()["detail"]
    many = client.post("/api/v1/check/batch", content=line, headers=bearer).json()["error"]
    (row,) = filed([line.encode()], catalog)
    assert many == says
    assert json.loads(row)["error"] == says
    assert one == (f"body: {says}" if says.startswith("must") else f"body.{says}")


def test_a_line_that_is_not_json_says_at_which_character(client: TestClient, bearer: Bearer, catalog: Catalog) -> None:
    line = b'{"exercise": "a/b", "answer": }'
    says = "not valid JSON at character 31: expected value"
    headers = {**bearer, "Content-Type": "application/json"}
    one = client.post("/api/v1/check", content=line, headers=headers).json()["detail"]
    many = client.post("/api/v1/check/batch", content=line + b"\n", headers=bearer).json()["error"]
    assert [one, many] == [f"body: {says}", says]
    assert json.loads(filed([line], catalog)[0])["error"] == says


def test_a_formula_and_a_class_use_these_words_too(client: TestClient, site: Site) -> None:
    formula = "/api/v1/formulas/collectives.ring_all_reduce_time"
    detail = client.post(formula, json={"ranks": None}).json()["detail"]
    assert detail == ("body.ranks: must be a whole number, a number, true or false, a string or a list, not null")
    detail = client.post(formula, content=b"{]", headers=JSON).json()["detail"]
    assert detail.startswith("body: not valid JSON at character 2: ")
    untyped = client.post(formula, content=b"{}").json()["detail"]
    assert untyped == "body: send the header Content-Type: application/json"
    with open_session(site.engine) as session:
        token = create_token(session, "school", "admin")
    sent = client.post("/api/v1/classes", json={"named": "A"}, headers={"Authorization": f"Bearer {token}"})
    assert sent.json()["detail"] == ("body.name: is missing; body.named: is not known here; did you mean 'name'?")


def filed(lines: list[bytes | None], catalog: Catalog) -> list[bytes]:
    """The rows of lines in a file."""

    async def rows() -> list[bytes]:
        grader = FileGrader(catalog, Settings())
        return [row async for row in grader.grade(enumerate(lines, 1), VerdictTally())]

    return asyncio.run(rows())


def test_lines_of_the_answers_command_are_graded_alike_over_http_and_in_a_file(
    client: TestClient, bearer: Bearer, catalog: Catalog
) -> None:
    exercises = [one for one in catalog.exercises if not one.runs_code][:40]
    made = list(lines(exercises, range(2)))
    sent = client.post("/api/v1/check/batch", content=b"".join(made), headers=bearer).content
    assert sent.splitlines() == b"".join(filed(list(made), catalog)).splitlines()
    rows = [json.loads(row) for row in sent.splitlines()]
    assert len(rows) == len(made) > 100
    assert all(row["verdict"] == row["expect"] for row in rows)
    one = client.post("/api/v1/check", json=json.loads(made[0]), headers=bearer)
    assert one.json() == rows[0]


def test_a_line_of_100_mb_is_one_row_over_http_and_in_a_file(
    client: TestClient, bearer: Bearer, catalog: Catalog, settings: Settings
) -> None:
    good = json.dumps({"exercise": RING, "answer": "70", "ref": "b"}).encode()
    huge = b'{"exercise": "' + b"x" * 100_000_000 + b'", "answer": "1"}\n' + good
    sent = client.post("/api/v1/check/batch", content=huge, headers=bearer).content
    found = list(gradable_lines(BytesIO(huge), catalog, settings.body_limit))
    assert b"".join(filed(found, catalog)) == sent
    first, second = (json.loads(row) for row in sent.splitlines())
    assert first == {"error": "the line is too long: at most 1,048,576 bytes are read", "line": 1}
    assert second["ref"] == "b"

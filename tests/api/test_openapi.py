"""Errors are described as they are sent."""

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from jsonschema import Draft202012Validator

RING = "collectives/ring-all-reduce-time"
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

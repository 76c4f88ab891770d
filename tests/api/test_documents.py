"""Problem documents, and the parts of the description of the API."""

import json
import re
from types import SimpleNamespace
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.testclient import TestClient
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from app.core.errors import AnswerError, InputError, NotFoundError, UnavailableError
from app.site import Site
from app.site.api.documents import OWNED, problem, problem_for, refusal, responses, text_body
from app.site.grading.offline import Submission
from tests.each import each


def told(site: Site, error: Exception, method: str = "GET", path: str = "/api/v1/x") -> dict[str, Any]:
    app = SimpleNamespace(state=SimpleNamespace(site=site))
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [],
        "app": app,
        "query_string": b"",
        "state": {},
    }
    response = problem_for(Request(scope), error)
    found: dict[str, Any] = json.loads(bytes(response.body))
    assert response.status_code == found["status"]
    assert response.headers["content-type"] == "application/problem+json"
    return {**found, "headers": response.headers}


@each(
    ("error", "status", "title", "detail"),
    [
        (NotFoundError("no such thing."), 404, "Not Found", "no such thing."),
        (InputError("a"), 422, "Unprocessable", "a"),
        (AnswerError("b"), 422, "Unprocessable", "b"),
        (UnavailableError("c."), 503, "Service Unavailable", "c."),
        (HTTPException(413, "too much"), 413, "", "too much"),
        (HTTPException(404, "Not Found"), 404, "Not Found", "there is nothing at /api/v1/x; see /api/docs"),
        (HTTPException(405, "Not Found"), 405, "Method Not Allowed", "Not Found"),
        (RequestValidationError([], body=b"x"), 422, "", "body: send the header Content-Type: application/json"),
    ],
)
def test_an_error_is_told_with_its_status(site: Site, error: Exception, status: int, title: str, detail: str) -> None:
    found = told(site, error)
    assert (found["status"], found["detail"], found["type"]) == (status, detail, "about:blank")
    assert found["title"].startswith(title)


def test_what_was_sent_may_be_lost_where_the_server_failed(site: Site) -> None:
    assert told(site, UnavailableError("away."), "POST")["detail"] == "away; what was sent may not have been stored"
    assert told(site, InputError("wrong."), "POST")["detail"] == "wrong."
    hidden = told(site, KeyError("a secret"))["detail"]
    assert "secret" not in hidden
    assert re.search("its log has the details under request ", hidden)


def test_the_headers_of_an_error_are_sent(site: Site) -> None:
    assert told(site, HTTPException(503, "x", {"Retry-After": "7"}))["headers"]["retry-after"] == "7"
    assert problem(418, "tea", {"X-A": "b"}).headers["x-a"] == "b"


def test_five_problems_of_a_body_are_told_with_its_part() -> None:
    try:
        Submission.model_validate({f"field{number}": 1 for number in range(9)})
    except ValidationError as error:
        errors = error.errors(include_url=False)
    assert refusal(errors, Submission, "body").count("; ") >= 4
    parts = refusal(errors, Submission, "body").split("; body.")
    assert len(parts) == 5
    assert parts[0].startswith("body.")
    assert not refusal(errors, Submission).startswith("body.")


@each(
    ("path", "owned"),
    [
        ("/healthz", True), ("/livez", True), ("/readyz", True), ("/metrics", True), ("/metrics/x", False),
        ("/healthzz", False), ("/api/", True), ("/api/v1/check", True), ("/api/docs", False), ("/api/docs/x", True),
        ("/api", False), ("/exercises", False),
    ],
)  # fmt: skip
def test_the_paths_of_programs_are_known(path: str, owned: bool) -> None:
    assert (re.match(OWNED, path) is not None) is owned


def test_documented_errors_and_bodies() -> None:
    found = responses(404, 503)
    assert list(found) == [404, 503]
    example = found[404]["content"]["application/problem+json"]["example"]
    assert (example["status"], example["title"]) == (404, "not found")
    body = text_body("application/x-ndjson", "{}")
    assert (set(body["content"]), body["required"]) == ({"application/x-ndjson", "application/octet-stream"}, True)


def test_every_operation_of_the_description_has_a_default_error(client: TestClient) -> None:
    document = client.get("/api/v1/openapi.json").json()
    operations = [operation for one in document["paths"].values() for operation in one.values()]
    assert all(one["responses"]["default"]["description"] == "any other error" for one in operations)
    assert not {"HTTPValidationError", "ValidationError"} & set(document["components"]["schemas"])
    assert {"Submission", "ProblemDocument"} <= set(document["components"]["schemas"])

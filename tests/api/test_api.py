import json
from typing import Any

import pytest
from fastapi import Request
from fastapi.testclient import TestClient

from app.core.errors import UnavailableError
from app.course.content.catalog import Catalog
from app.course.kinds import SEEDS
from app.server.db.learner_cookie import create_token, revoke_token
from app.server.db.session import open_session
from app.site import Site
from app.site.api.documents import problem_for
from tests.each import each
from tests.waiting import wait_until

RING = "collectives/ring-all-reduce-time"
Bearer = dict[str, str]
Client = TestClient


def check(client: Client, bearer: Bearer, **body: object) -> Any:
    return client.post("/api/v1/check", json={"exercise": RING, **body}, headers=bearer)


def assert_problem(answer: Any, status: int, says: str) -> None:
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert set(document) == {"type", "title", "status", "detail"}
    assert says in document["detail"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_healthy_server_says_ok(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "sandbox": "ready"}


def test_a_process_that_answers_says_so(client: Client) -> None:
    answer = client.get("/livez")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok"}


def test_chapters_say_what_they_need_and_a_final_can_be_drawn(client: TestClient, catalog: Catalog) -> None:
    listed = client.get("/api/v1/chapters").json()
    assert [row["id"] for row in listed] == [topic.id for topic in catalog.topics]
    meshes = next(row for row in listed if row["id"] == "meshes")
    assert meshes["needs"] == ["pipelines", "tensor", "sharding", "attention"]
    assert meshes["routes"] == ["train"]
    assert {*meshes["path"], *meshes["extras"]} == {one.id for one in catalog.topic("meshes").exercises}
    drawn = client.get("/api/v1/finals/7").json()
    assert [row["number"] for row in drawn] == list(range(1, 21))
    shown = client.get(f"/final/7/{drawn[4]['number']}").text
    assert catalog.exercise(drawn[4]["exercise"]).title in shown
    assert client.get("/api/v1/finals/x").status_code == 422


def test_the_list_has_what_a_grader_needs(client: Client, catalog: Catalog) -> None:
    listed = client.get("/api/v1/exercises").json()
    assert [row["id"] for row in listed] == [exercise.id for exercise in catalog.exercises]
    assert all(set(row) == {"id", "topic", "kind", "title", "level"} for row in listed)


def test_an_exercise_is_shown_without_its_answer(client: Client, site: Site) -> None:
    for exercise in site.catalog.exercises:
        shown = client.get(f"/api/v1/exercises/{exercise.id}?seed=7")
        assert shown.status_code == 200
        values = shown.json()
        assert {"id", "kind", "seed", "title", "prompt", "given"} < set(values)
        assert not {"answer", "correct", "right", "solution", "hints", "bugs"} & set(values)
    ring = client.get(f"/api/v1/exercises/{RING}").json()
    assert ring["given"] == {"ranks": "8", "size": "2 GB", "bandwidth": "50 GB/s"}
    assert ring["fields"][0]["unit"] == "ms"


def test_the_prompt_of_every_exercise_is_its_task(client: Client, catalog: Catalog) -> None:
    """No field of a kind may replace one that all kinds have."""
    for exercise in catalog.exercises:
        shown = client.get(f"/api/v1/exercises/{exercise.id}?seed=5").json()
        variant = exercise.variant(5)
        assert shown["prompt"] == variant.prompt, exercise.id
        assert shown["given"].items() <= variant.draw.shown.items()
        common = (exercise.id, exercise.kind, 5, exercise.title)
        assert tuple(shown[key] for key in ("id", "kind", "seed", "title")) == common


def test_a_lab_shows_its_task_and_the_question_about_the_cause(client: Client, bearer: Bearer) -> None:
    shown = client.get("/api/v1/exercises/collectives/time-the-tree").json()
    assert shown["prompt"].startswith("Four ranks all-reduce 4 MiB over an emulated link")
    assert [field["name"] for field in shown["fields"]] == ["time"]
    assert "measured time is a few milliseconds above the formula" in shown["cause"]["prompt"]
    assert {option["key"] for option in shown["cause"]["options"]} == {"late", "link", "model"}
    assert "correct" not in str(shown)
    answer = {"time": "149.83 ms", "cause": "late"}
    body = {"exercise": shown["id"], "seed": 0, "answer": answer}
    assert client.post("/api/v1/check", json=body, headers=bearer).json()["verdict"] == "correct"
    described = client.get("/api/v1/openapi.json").json()
    schema = described["components"]["schemas"]["DrawnExercise"]
    assert {"prompt", "fields", "cause"} <= schema["properties"].keys()


def test_a_check_answers_as_promised(client: Client, bearer: Bearer) -> None:
    answer = check(client, bearer, seed=0, answer="70 ms")
    assert answer.status_code == 200
    verdict = answer.json()
    assert set(verdict) == {"exercise", "seed", "verdict", "score", "feedback"}
    assert (verdict["verdict"], verdict["score"]) == ("correct", 1)
    wrong = check(client, bearer, answer="35").json()
    assert wrong["verdict"] == "incorrect"
    assert "reduce-scatter alone" in wrong["feedback"][0]
    unreadable = check(client, bearer, answer="70 GB").json()
    assert (unreadable["verdict"], unreadable["score"]) == ("unreadable", 0)


def test_numbers_lists_and_objects_are_answers_too(client: Client, bearer: Bearer) -> None:
    assert check(client, bearer, answer=70).json()["verdict"] == "correct"
    assert check(client, bearer, answer=70.1).json()["verdict"] == "correct"
    parts = {"bus": "38.89 GB/s", "share": 77.8}
    both = check(client, bearer, exercise="collectives/bus-bandwidth", answer=parts)
    assert both.json()["verdict"] == "correct"
    line = check(client, bearer, exercise="collectives/estimate-off-by-a-factor", answer=6)
    assert line.json()["verdict"] == "correct"
    order = ["cut", "first", "pass", "own", "gather", "done"]
    ordered = check(client, bearer, exercise="collectives/steps-of-a-ring", answer=order)
    assert ordered.json()["verdict"] == "correct"


def test_an_attempt_of_a_grader_is_stored_under_the_token(client: Client, bearer: Bearer, site: Site) -> None:
    from app.server.db.stored_records import StoredRecords

    check(client, bearer, answer="70.3 ms")
    with open_session(site.engine) as session:
        assert StoredRecords(session, "token:tests").latest_attempts(limit=1)[0].answer == "70.3 ms"


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer x"}, {"Authorization": "Basic eA=="}])
def test_without_a_valid_token_there_is_no_check(client: Client, header: Bearer) -> None:
    for path in ("/api/v1/check", "/api/v1/check/batch", "/api/v1/predict"):
        answer = client.post(path, content=b"{}", headers=header)
        assert_problem(answer, 401, "a valid token is required")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_revoked_token_is_refused_a_second_later(client: Client, site: Site) -> None:
    with open_session(site.engine) as session:
        secret = create_token(session, "short-lived")
    bearer = {"Authorization": f"Bearer {secret}"}
    assert check(client, bearer, answer="70").status_code == 200
    with open_session(site.engine) as session:
        revoke_token(session, "short-lived")
    wait_until(lambda: check(client, bearer, answer="70").status_code != 200)
    assert check(client, bearer, answer="70").status_code == 401


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"exercise": "collectives/ring-allreduce-time", "answer": "1"}, 404, "did you mean"),
        ({"exercise": RING}, 422, "body.answer"),
        ({"exercise": RING, "answer": "1", "seed": -1}, 422, "body.seed"),
        ({"exercise": RING, "answer": "1", "seed": SEEDS}, 422, "body.seed"),
        ({"exercise": RING, "answer": "1", "seed": True}, 422, "body.seed"),
        ({"exercise": RING, "answer": "1", "seed": "7"}, 422, "body.seed"),
        ({"exercise": RING, "answer": "1", "seed": 7.5}, 422, "body.seed"),
        ({"exercise": RING, "answer": None}, 422, "body.answer"),
        ({"exercise": RING, "answer": "1", "sead": 7}, 422, "body.sead"),
        ({"exercise": RING, "answer": "1" * 20_001}, 413, "20,000"),
        ({"exercise": 5, "answer": "1"}, 422, "body.exercise"),
        ([], 422, "body"),
    ],
)
def test_the_error_for_a_malformed_body_names_the_field(
    client: Client, bearer: Bearer, body: object, status: int, says: str
) -> None:
    assert_problem(client.post("/api/v1/check", json=body, headers=bearer), status, says)


@pytest.mark.parametrize(
    "raw",
    [b"{", b"\xff", b"", b'{"exercise": "x", "answer": NaN}', b'"\\ud800"', b"[" * 100_000,
     b'{"exercise": "x", "answer": "\\ud800"}', b'{"exercise": "x", "seed": 1e999, "answer": "1"}'],
)  # fmt: skip
def test_invalid_json_is_refused_and_not_a_fault(client: Client, bearer: Bearer, raw: bytes) -> None:
    headers = {**bearer, "Content-Type": "application/json"}
    answer = client.post("/api/v1/check", content=raw, headers=headers)
    assert answer.status_code in (400, 404, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_large_body_is_refused(client: Client, bearer: Bearer) -> None:
    headers = {**bearer, "Content-Type": "application/json"}
    raw = b'{"exercise": "' + b"x" * 1_100_000 + b'"}'
    assert_problem(client.post("/api/v1/check", content=raw, headers=headers), 413, "1,048,576")
    streamed = client.post("/api/v1/check", content=iter([raw]), headers=headers)
    assert_problem(streamed, 413, "1,048,576")


def test_an_unknown_address_and_method_are_problems(client: Client) -> None:
    assert_problem(client.get("/api/v1/nothing"), 404, "/api/docs")
    assert_problem(client.get("/api/v1/check"), 405, "")
    assert_problem(client.get(f"/api/v1/exercises/{RING}?seed=x"), 422, "query.seed")
    assert_problem(client.get("/api/v1/exercises/memory/stage4"), 404, "did you mean")


def lines(answer: Any) -> list[Any]:
    return [json.loads(line) for line in answer.text.splitlines()]


def test_a_batch_answers_in_order_with_errors_in_place(client: Client, bearer: Bearer) -> None:
    body = [
        json.dumps({"exercise": RING, "answer": "70", "ref": "a"}),
        "no json",
        json.dumps({"exercise": "memory/nothing", "answer": "1", "ref": 7}),
        "",
        json.dumps({"exercise": "collectives/write-ring-time", "answer": "def x(): 1", "ref": "b"}),
        json.dumps({"exercise": RING, "answer": "soon"}),
        json.dumps({"exercise": RING, "answer": "1" * 30_000, "ref": "c"}),
        json.dumps({"exercise": RING, "answer": "35"}),
    ]
    answer = client.post("/api/v1/check/batch", content="\n".join(body), headers=bearer)
    assert answer.headers["content-type"] == "application/x-ndjson"
    rows = lines(answer)
    assert [row.get("verdict", "error") for row in rows] == [
        "correct", "error", "error", "incorrect", "unreadable", "error", "incorrect",
    ]  # fmt: skip
    assert [row.get("ref") for row in rows] == ["a", None, 7, "b", None, "c", None]
    assert rows[1]["line"] == 2
    assert "did you mean" in rows[2]["error"] or "no exercise" in rows[2]["error"]


def test_a_batch_of_thousands_arrives_in_pieces_and_order(client: Client, bearer: Bearer) -> None:
    raw = b"".join(
        json.dumps({"exercise": RING, "seed": n % 50, "answer": "70 ms", "ref": n}).encode() + b"\n"
        for n in range(3_000)
    )
    pieces = (raw[start : start + 7_001] for start in range(0, len(raw), 7_001))
    rows = lines(client.post("/api/v1/check/batch", content=pieces, headers=bearer))
    assert [row["ref"] for row in rows] == list(range(3_000))


def test_a_line_that_is_too_long_is_an_error_row(client: Client, bearer: Bearer) -> None:
    good = json.dumps({"exercise": RING, "answer": "70"}).encode()
    raw = b"x" * 1_500_000 + b"\n" + good
    rows = lines(client.post("/api/v1/check/batch", content=raw, headers=bearer))
    assert "at most" in rows[0]["error"]
    assert rows[1]["verdict"] == "correct"


def test_formulas_are_evaluated(client: Client) -> None:
    assert len(client.get("/api/v1/formulas").json()) > 30
    address = "/api/v1/formulas/collectives.ring_all_reduce_time"
    arguments = {"size": "2 GB", "ranks": 8, "bandwidth": 50e9}
    answer = client.post(address, json=arguments).json()
    assert answer == {"value": pytest.approx(0.07), "unit": "s", "text": "70 ms"}
    assert_problem(client.post(address, json={**arguments, "ranks": 2.5}), 422, "ranks")
    assert_problem(client.post(address, json={**arguments, "ranks": -3}), 422, "-3")
    assert_problem(client.post(address, json={**arguments, "size": "2 s"}), 422, "size")
    assert_problem(client.post(address, json={"size": "2 GB"}), 422, "also needs ranks")
    assert_problem(client.post(address, json={**arguments, "rank": 1}), 422, "did you mean")
    nothing = client.post("/api/v1/formulas/collectives.ring_time", json={})
    assert_problem(nothing, 404, "did you mean")


def test_a_formula_with_several_values_names_each(client: Client) -> None:
    answer = client.post(
        "/api/v1/formulas/memory.hybrid_shard_traffic",
        json={"weight_bytes_total": "14 GB", "shard_ranks": 8, "replicas": 4},
    ).json()
    assert set(answer["value"]) == {"intra_bytes", "inter_bytes"}


def test_every_operation_is_described_and_its_examples_work(client: Client, bearer: Bearer) -> None:
    described = client.get("/api/v1/openapi.json").json()
    classes = {path for path in described["paths"] if path.startswith("/api/v1/classes")}
    assert set(described["paths"]) - classes == {
        "/healthz", "/livez", "/readyz", "/metrics", "/api/v1/exercises", "/api/v1/exercises/{id}", "/api/v1/check",
        "/api/v1/check/batch", "/api/v1/formulas", "/api/v1/formulas/{name}", "/api/v1/predict",
        "/api/v1/chapters", "/api/v1/chapters/{name}/parameters", "/api/v1/finals/{draw}",
    }  # fmt: skip
    for methods in described["paths"].values():
        for operation in methods.values():
            assert operation["summary"]
            assert operation["description"]
    submission = described["components"]["schemas"]["Submission"]["examples"][0]
    assert check(client, bearer, **submission).status_code == 200
    page = client.get("/api/docs").text
    assert all(path in page for path in described["paths"])


@each(
    ("method", "detail"),
    [
        ("GET", "This takes about half a minute."),
        ("POST", "This takes about half a minute; what was sent may not have been stored"),
    ],
)
def test_a_sentence_with_a_full_stop_goes_on_without_it(method: str, detail: str) -> None:
    request = Request({"type": "http", "method": method, "path": "/api/v1/check", "headers": []})
    response = problem_for(request, UnavailableError("This takes about half a minute."))
    assert (response.status_code, json.loads(bytes(response.body))["detail"]) == (503, detail)

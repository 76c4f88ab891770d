"""Requests with an empty list, an entry twice, or an odd number: a sentence or a result, and soon."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from secrets import token_hex
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.classes.people.policy import Policy
from app.core.errors import AppError
from app.core.formulas import FORMULAS
from app.core.formulas.presets import Cluster, Layout, Recipe, Shares, model
from app.course.content.catalog import Catalog
from app.server.db.learner_cookie import create_token
from app.server.db.session import open_session
from app.site import Site
from app.site.api.checks import BATCH, ONE, PREDICT
from app.site.api.formulas import result_of
from tests.api.test_openapi import operations
from tests.formulas.samples import legal
from tests.people.school import School
from tests.slips import ended_soon, places, replaced, slips

JSON = "application/json"
TEXTS = ("application/x-ndjson", "text/csv")
CELLS = ("", "0", "-1", "1e308", "inf", "nan")


@pytest.fixture
def headers(site: Site) -> dict[str, str]:
    with open_session(site.engine) as session:
        return {"Authorization": f"Bearer {create_token(session, token_hex(4), 'admin')}"}


def slipped(sample: Any) -> Iterator[tuple[str, str]]:
    """*sample* with one slip, at each of its places and as a whole: what it is, and its JSON."""
    for where, value in places({"": sample}):
        for slip in slips(value):
            changed = replaced({"": sample}, where, slip)[""]
            yield f"{where}: {slip!r}"[:200], json.dumps(changed)


def answers(client: TestClient, method: str, address: str, body: str, headers: dict[str, str]) -> str:
    """The text of the response, which comes soon and is not a fault."""
    with ended_soon():
        sent = client.request(method, address, content=body.encode(), headers=headers)
    assert sent.status_code < 500, (method, address, body, sent.text)
    if sent.status_code >= 400:
        assert len(sent.json()["detail"]) > 10, (method, address, body)
    return sent.text


def bodies(described: Any, kinds: tuple[str, ...]) -> Iterator[tuple[str, str, Any]]:
    """Each operation whose body is of one of these *kinds*, and a sample of it."""
    for path, method, operation in operations(described):
        content = operation.get("requestBody", {}).get("content", {})
        for kind in set(content) & set(kinds):
            yield path, method, sample_of(content[kind], described["components"]["schemas"])


def sample_of(described: Any, schemas: Any) -> Any:
    """The example of a body in the description; for a list of objects, two of them."""
    schema = described["schema"]
    if "example" in described or "examples" in schema:
        return described.get("example") or schema["examples"][0]
    if schema.get("type") == "array":
        return 2 * [sample_of({"schema": schema["items"]}, schemas)]
    return sample_of({"schema": schemas[schema["$ref"].rpartition("/")[2]]}, schemas)


class Addresses:
    """Places of a class in which there is what a sample of a request names."""

    def __init__(self, site: Site) -> None:
        self.school = School(site)
        self.student, _, _ = self.school.member("Grace")
        self.assignment = self.school.assign(Policy())

    def at(self, path: str) -> str:
        return path.format(
            class_id=self.school.id,
            assignment=self.assignment.id,
            person=self.student.person,
            name="collectives.ring_all_reduce_time",
        )

    def sample(self, sample: Any) -> Any:
        """*sample*, in which this student takes the place of the one who is named there."""
        text = json.dumps(sample).replace("4711", str(self.student.person))
        return json.loads(text)


def test_a_slip_in_a_request_is_a_sentence(client: TestClient, site: Site, headers: dict[str, str]) -> None:
    described = client.get("/api/v1/openapi.json").json()
    seen = set()
    for path, method, sample in bodies(described, (JSON,)):
        here = Addresses(site)
        typed = {**headers, "Content-Type": JSON}
        good = here.sample(sample)
        answers(client, method, here.at(path), json.dumps(good), typed)
        for _, body in slipped(good):
            answers(client, method, here.at(path), body, typed)
        seen.add((method, path))
    assert len(seen) >= 10


def test_a_slip_in_a_file_that_is_sent_is_a_sentence(client: TestClient, site: Site, headers: dict[str, str]) -> None:
    described = client.get("/api/v1/openapi.json").json()
    files = [one for one in bodies(described, TEXTS) if one[0].endswith(".csv")]
    assert len(files) == 2
    for path, method, sample in files:
        here = Addresses(site)
        head, *rows = sample.splitlines()
        for body in ("", "\n", head, f"{head}\n{head}", "\n".join([head, *rows, *rows]), *rows):
            answers(client, method, f"{here.at(path)}?why=oral", body, headers)
        for line, text in enumerate((head, *rows)):
            for column in range(text.count(",") + 1):
                for cell in CELLS:
                    cells = text.split(",")
                    cells[column] = cell
                    lines = [head, *rows]
                    lines[line] = ",".join(cells)
                    address = f"{here.at(path)}?why=oral"
                    answers(client, method, address, "\n".join(lines), headers)


def test_a_slip_in_a_prediction_is_a_sentence(client: TestClient, headers: dict[str, str]) -> None:
    shape = model("Llama-3.1-8B")
    cluster = Cluster.read("64 H100")
    sample = {
        "ref": "a1",
        "model": asdict(shape),
        "cluster": asdict(cluster),
        "layout": asdict(Layout(tensor=2, data=32, microbatches=4)),
        "recipe": asdict(Recipe()),
        "shares": asdict(Shares()),
        "measured": 1.9,
        "measured_memory": "40 GB",
        "group": "a",
    }
    (good,) = answers(client, "post", PREDICT, json.dumps(sample), headers).splitlines()
    assert "error" not in json.loads(good), good
    for says, line in slipped(sample):
        (row,) = answers(client, "post", f"{PREDICT}?summary=false", line, headers).splitlines()
        found = json.loads(row)
        assert "error" in found or found["step_time"] > 0, (says, found)


def test_a_slip_in_an_answer_of_any_kind_is_a_sentence(
    client: TestClient, headers: dict[str, str], catalog: Catalog
) -> None:
    kinds = {one.kind: one for one in catalog.exercises if not one.runs_code}
    assert len(kinds) >= 8
    for exercise in kinds.values():
        sample = {"exercise": exercise.id, "seed": 1, "answer": exercise.right_answer(1), "ref": 1}
        lines = [line for _, line in slipped(sample)]
        rows = answers(client, "post", BATCH, "\n".join(lines), headers).splitlines()
        assert len(rows) == len(lines)
        for line in lines[:: len(lines) // 20 + 1]:
            answers(client, "post", ONE, line, {**headers, "Content-Type": JSON})


@pytest.mark.sweep
def test_a_slip_in_the_arguments_of_a_formula_is_a_sentence() -> None:
    for formula in FORMULAS.values():
        plain = {
            name: list(value) if isinstance(value, tuple | list) else value
            for name, value in legal(formula).items()
            if isinstance(value, str | int | float | tuple | list)
        }
        for says, text in slipped(plain):
            arguments = json.loads(text)
            try:
                with ended_soon():
                    result_of(formula.name, arguments or {})  # the route takes objects alone
            except AppError as error:
                assert str(error), (formula.name, says)
            except Exception as error:
                error.add_note(f"{formula.name} {says}")
                raise

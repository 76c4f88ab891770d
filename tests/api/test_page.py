"""The interface and the page of an exercise show the same."""

import html
import re
from collections.abc import Iterator
from itertools import product

import pytest
from fastapi.testclient import TestClient

from app.course.content.catalog import Catalog
from app.course.kinds import Exercise
from app.course.kinds.numeric import question_texts

SEEDS = (0, 7, 7003)
_SPACES = re.compile(r"[\s\u00a0\u202f]+")


def _plain(text: str) -> str:
    """*text* without separators, which a number has in a text and not in a file."""
    return _SPACES.sub(" ", html.unescape(text).replace(",", "")).strip()


def _is_shown(text: str, page: str) -> bool:
    """Whether *page* shows the value *text*, perhaps in another unit or with another sign of it."""
    number = re.match(r"\d[\d.]*", _plain(text))
    return _plain(text) in page or (number is not None and number[0] in page)


def _leaves(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text in *value*, with the name under which it stands."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _leaves(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part, key)
    elif isinstance(value, str):
        yield key, value


def _disagreements(client: TestClient, exercise: Exercise, seed: int) -> Iterator[str]:
    told = client.get(f"/api/v1/exercises/{exercise.id}?seed={seed}").json()
    told.pop("cause", None)  # of a lab: on the page, it is asked after the prediction
    told.pop("symbols", None)  # of an expression: named in its prose, not in fields
    source = _plain(client.get(f"/exercises/{exercise.id}?seed={seed}").text)
    page = _plain(re.sub(r"<[^>]+>", "", source))
    for name, text in told.pop("given").items():
        if not _is_shown(text, page):
            yield f"{exercise.id}, seed {seed}: {name} is {text}, which the page does not show"
    for key, text in _leaves(told):
        if key in ("name", "key") and not re.search(rf"[\".]{re.escape(text)}\"", source):
            yield f"{exercise.id}, seed {seed}: the page has no field for {text}"


@pytest.mark.sweep
def test_what_the_interface_gives_is_on_the_page(client: TestClient, catalog: Catalog) -> None:
    drawn = product(catalog.exercises, SEEDS)
    found = [says for exercise, seed in drawn for says in _disagreements(client, exercise, seed)]
    assert found == []


def test_the_interface_gives_no_value_that_the_question_does_not_use(client: TestClient, catalog: Catalog) -> None:
    for exercise, seed in product(catalog.exercises, SEEDS):
        given = client.get(f"/api/v1/exercises/{exercise.id}?seed={seed}").json()["given"]
        asked = " ".join(text for _, text in question_texts(exercise))
        unused = [name for name in given if not re.search(rf"{{{name}[ |}}]", asked)]
        assert not unused, exercise.id


def test_the_interface_does_not_name_the_fault_to_look_for(client: TestClient) -> None:
    """Drawn values that only feedback and solutions use would give the answer away."""
    for known, secret in (
        ("pipelines/order-of-1f1b", "order"),
        ("tensor/find-the-factor", "fault"),
        ("memory/llama-405b-stage-3", "missing"),
        ("serving/nodes-of-a-service", "report"),
        ("diagnosis/a-flight-recorder", "fault"),
        ("diagnosis/the-wrong-peak", "wrong"),
    ):
        for seed in SEEDS:
            assert secret not in client.get(f"/api/v1/exercises/{known}?seed={seed}").json()["given"]

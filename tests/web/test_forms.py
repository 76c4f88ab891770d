"""Forms of every kind: the fields that an answer needs, and what was typed, given back as text."""

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient

from app.course.content.catalog import Catalog
from app.course.kinds import Exercise

HOSTILE = "\"><script>alert(1)</script>'"
TYPED = ("numeric", "expression", "function", "lab")
CHOSEN = ("choice", "match", "order", "buggy_line", "design")


def first(catalog: Catalog, kind: str) -> Exercise:
    return next(exercise for exercise in catalog.exercises if exercise.kind == kind)


def fields(page: str) -> set[str]:
    """The names of the fields that a learner fills."""
    names = set(re.findall(r'<(?:input|select|textarea)[^>]*? name="([^"]+)"', page))
    return {name for name in names if name.startswith(("answer", "place."))}


@pytest.mark.parametrize("kind", [*TYPED, *CHOSEN])
def test_a_right_answer_fits_the_fields_of_its_form(client: TestClient, catalog: Catalog, kind: str) -> None:
    exercise = first(catalog, kind)
    answer = exercise.right_answer(0)
    found = fields(client.get(f"/exercises/{exercise.id}").text)
    needed = {f"answer.{name}" for name in answer} if isinstance(answer, dict) else {"answer"}
    if kind == "order":  # a place for each thing; scripts send one list
        needed = {f"place.{name}" for name in answer}
    if kind == "lab":  # the cause is asked for after the prediction
        needed -= {"answer.cause"}
    assert needed <= found


@pytest.mark.parametrize("kind", TYPED)
def test_what_was_typed_comes_back_as_text(client: TestClient, catalog: Catalog, kind: str) -> None:
    exercise = first(catalog, kind)
    page = client.get(f"/exercises/{exercise.id}").text
    sent = dict.fromkeys(fields(page), HOSTILE) | {"action": "check"}
    answered = client.post(f"/exercises/{exercise.id}", data=sent).text
    assert "<script>alert(1)" not in answered
    assert HOSTILE in unescape(answered)


@pytest.mark.parametrize("kind", CHOSEN)
def test_what_cannot_be_chosen_is_not_given_back_as_markup(client: TestClient, catalog: Catalog, kind: str) -> None:
    exercise = first(catalog, kind)
    page = client.get(f"/exercises/{exercise.id}").text
    answered = client.post(f"/exercises/{exercise.id}", data=dict.fromkeys(fields(page), HOSTILE))
    assert answered.status_code < 500
    assert "<script>alert(1)" not in answered.text


@pytest.mark.parametrize("kind", ["choice", "match", "design"])
def test_a_choice_is_still_made_after_the_verdict(client: TestClient, catalog: Catalog, kind: str) -> None:
    exercise = first(catalog, kind)
    answer = exercise.right_answer(0)
    data = (
        {f"answer.{name}": value for name, value in answer.items()} if isinstance(answer, dict) else {"answer": answer}
    )
    page = client.post(f"/exercises/{exercise.id}?seed=0", data=data).text
    made = re.findall(r"<(?:input|option)[^>]*? (?:checked|selected)", page)
    assert len(made) >= len(answer if isinstance(answer, dict) else [answer])

"""What a learner wrote is data, wherever it is quoted: in verdicts, errors, pages and reports."""

import json
from collections.abc import Iterator, Mapping
from itertools import product

import pytest
from fastapi.testclient import TestClient

from app.content.catalog import Catalog
from app.kinds import KINDS, Exercise
from app.kinds.answers import Answer
from app.kinds.code.function import Function
from app.kinds.code.schedule import Schedule
from app.markdown import html
from tests.each import each
from tests.hostile import LONGEST, TEXTS, troubles
from tests.web.test_forms import fields

LANGUAGES = ("en", "de")
TYPED = sorted(name for name, kind in KINDS.items() if not kind.runs_code)
RUN = sorted(name for name, kind in KINDS.items() if kind.runs_code)
OF_PROGRAMS = (
    "link by reference", "mathematics that is not closed", "HTML", "many backticks", "bidi", "control",
    "forms of other languages", "long",
)  # fmt: skip
# What a program may do with a text: return it in some place, raise it, print it, be called so.
BODIES = {
    "function": (
        "return {text}", "return [{text}, ({text}, 1)]", "return {{{text}: [{text}]}}",
        "print({text}); raise ValueError({text})", "raise type({text}.replace(chr(0), ''), (Exception,), {{}})({text})",
        "raise type('Missing', (Exception,), {{}})({text})",
    ),
    "schedule": (
        "return {text}", "return [{text}]", "return [({text}, 0)]", "return [({text}, 0, 0)]",
        "return [('F', {text}, 0)]", "return [('send', {text}, ('x', 0, 0))]", "return [('drop', {text})]",
        "return [('drop', ({text}, 0))]", "return [('drop', ('x', {text}))]", "return [('F', {text})]",
        "return [('send', 1 - rank, ('x', *[0] * 12_000))]", "raise ValueError({text})",
    ),
}  # fmt: skip


def sample(catalog: Catalog, kind: str) -> Exercise:
    return catalog.exercise(KINDS[kind].sample)


def answers(right: Answer, text: str) -> Iterator[Answer]:
    """*text* as an answer, in place of each of its parts, and as the name of one."""
    yield text
    yield [text]
    yield [text, text]
    yield {text[:500]: text}
    if isinstance(right, list):
        yield from ([*right[:at], text, *right[at + 1 :]] for at in range(len(right)))
    elif isinstance(right, dict):
        yield from ({**right, name: text} for name in right)
        yield {**right, text: "1"}


def programs(kind: str, entry: str, text: str) -> Iterator[str]:
    head = f"def {entry}({'rank' if kind == 'schedule' else '*given'}):\n    "
    for body in BODIES[kind]:
        yield head + body.format(text=ascii(text))
    yield text
    yield f"def {entry}(*given):\n    return 1\n# {text}"


def refuse_troubles(said: list[str]) -> None:
    """Feedback is Markdown: whoever shows it as such sees the text, and nothing made of it."""
    assert sum(map(len, said)) <= LONGEST, said
    for sentence in said:
        assert troubles(html(sentence)) == [], sentence
        assert "<math" not in html(sentence) or "Read as" in sentence, sentence


def checked(client: TestClient, headers: Mapping[str, str], exercise: str, answer: Answer) -> None:
    body = json.dumps({"exercise": exercise, "seed": 0, "answer": answer})
    response = client.post("/api/v1/check", content=body, headers=headers)
    assert response.status_code in (200, 413, 422), response.text
    if response.status_code == 200:
        refuse_troubles(response.json()["feedback"])
    else:
        refuse_troubles([response.json()["detail"]])


def shown(client: TestClient, exercise: str, fields: Mapping[str, str], language: str) -> None:
    """The verdict on a page, which a script asks for alone."""
    headers = {"x-fragment": "1", "Accept-Language": language}
    answered = client.post(f"/exercises/{exercise}", data=fields, headers=headers)
    assert answered.status_code in (200, 413, 422), answered.text[:500]
    assert troubles(answered.text) == []


@each("kind", TYPED)
@each("name", TEXTS)
def test_verdicts_on_what_was_typed_quote_it(
    client: TestClient, catalog: Catalog, bearer: dict[str, str], kind: str, name: str
) -> None:
    exercise, text = sample(catalog, kind), TEXTS[name]
    right = exercise.right_answer(0)
    for language in LANGUAGES:
        headers = {**bearer, "Content-Type": "application/json", "Accept-Language": language}
        for answer in answers(right, text):
            checked(client, headers, exercise.id, answer)


@each("kind", TYPED)
def test_pages_quote_what_was_typed(client: TestClient, catalog: Catalog, kind: str) -> None:
    exercise = sample(catalog, kind)
    names = fields(client.get(f"/exercises/{exercise.id}").text)
    for language, text in product(LANGUAGES, TEXTS.values()):
        shown(client, exercise.id, dict.fromkeys(names, clean(text)), language)


@pytest.mark.slow(30)
@each("kind", RUN)
@each("name", OF_PROGRAMS)
def test_verdicts_on_programs_quote_what_they_return_raise_and_print(
    client: TestClient, catalog: Catalog, bearer: dict[str, str], kind: str, name: str
) -> None:
    exercise = sample(catalog, kind)
    assert isinstance(exercise, Function | Schedule)
    headers = {**bearer, "Content-Type": "application/json", "Accept-Language": "de"}
    for source in programs(kind, exercise.entry, TEXTS[name]):
        checked(client, headers, exercise.id, source)
        shown(client, exercise.id, {"answer": clean(source), "action": "run"}, "en")


def clean(text: str) -> str:
    """*text* as a form can send it."""
    return text.encode("utf-8", "replace").decode("utf-8")

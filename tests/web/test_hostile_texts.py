"""What a learner wrote is data, wherever it is quoted: in verdicts, errors, pages and reports."""

import json
from collections.abc import Iterator, Mapping
from itertools import product
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from app.core.quotation import visible
from app.course.content.catalog import Catalog
from app.course.kinds import KINDS, Exercise
from app.course.kinds.base import Answer
from app.course.kinds.code.function import Function
from app.course.kinds.code.schedule import Schedule
from app.site.markdown import html
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


# Addresses with a place for a text, of every room.
ADDRESSES = (
    "/search?q={}", "/glossary?q={}", "/formulas/{}", "/explore/{}", "/explore/ring?ranks={}", "/explore/ring?guess={}",
    "/explore/pipeline?against={}", "/explore/fit?model={}", "/explore/fit?tensor={}&batch=8", "/layouts?gpus={}",
    "/measured/{}", "/measured/traces/{}", "/measured?hardware={}", "/errata/{}", "/docs/{}",
    "/chapters/{}", "/chapters/your-cluster?gpus={}", "/chapters/your-cluster?{}=1", "/placement/begin?route={}",
    "/labs/{}", "/labs/algorithms/{}", "/labs/algorithms?backend={}", "/labs/algorithms?ranks={}", "/trust/{}",
    "/trust?source={}", "/exercises/{}", "/exercises/collectives/{}", f"/exercises/{KINDS['numeric'].sample}?seed={{}}",
    f"/exercises/{KINDS['numeric'].sample}?code={{}}", "/nothing/{}", "/static/{}", "/images/{}/x.svg", "/sign-in/{}",
    "/sign-in?next={}", "/join/{}", "/lti/login?iss={}&login_hint=x", "/lti/register?openid_configuration={}",
    "/placement/{}", "/final/{}", "/final/7/{}", "/scratch?text={}", "/?lang={}", "/progress?left={}",
    "/formulas/collectives.ring_all_reduce_time?size={}&ranks=8&bandwidth=1", "/formulas/layout.step_time?layout={}",
    "/formulas/layout.step_time?model={}", "/formulas/sharding.plan_bytes?task={}&plan={}",
    "/formulas/pipeline.bubble_ratio?schedule={}&stages=4&microbatches=8", "/formulas/collectives.ring_all_reduce_time?{}=1",
    "/api/v1/exercises/{}", f"/api/v1/exercises/{KINDS['choice'].sample}?seed={{}}", "/api/v1/chapters/{}/parameters",
    "/api/v1/chapters/your-cluster/parameters?gpus={}", "/api/v1/chapters/your-cluster/parameters?{}=1", "/api/v1/{}",
    "/api/v1/finals/{}", "/api/v1/classes/{}",
)  # fmt: skip
OF_ADDRESSES = (
    "link", "image", "mathematics", "mathematics that is not closed", "HTML", "many backticks", "bidi", "control",
    "names of other languages", "long name", "figures",
)  # fmt: skip
SHORT = 1_500  # characters: an address has a limit


@pytest.mark.slow(30)
@each("address", ADDRESSES)
def test_pages_and_errors_quote_what_an_address_says(client: TestClient, bearer: dict[str, str], address: str) -> None:
    for at, text in enumerate(TEXTS[name] for name in OF_ADDRESSES):
        language = LANGUAGES[at % len(LANGUAGES)]
        sent = quote(clean(text)[:SHORT], safe="")
        answer = client.get(address.replace("{}", sent), headers={**bearer, "Accept-Language": language})
        assert answer.status_code < 500, (answer.status_code, text)
        if "html" in answer.headers.get("content-type", ""):
            assert troubles(answer.text) == [], text
        elif "problem" in answer.headers.get("content-type", ""):
            assert len(answer.json()["detail"]) <= LONGEST
            assert visible(answer.json()["detail"]) == answer.json()["detail"]


@each("name", TEXTS)
def test_errors_of_formulas_and_predictions_quote_what_was_sent(
    client: TestClient, bearer: dict[str, str], name: str
) -> None:
    text = clean(TEXTS[name])
    formulas = ("/api/v1/formulas/collectives.ring_all_reduce_time", "/api/v1/formulas/layout.step_time")
    for address, key in product(formulas, ("size", "ranks", "model", "layout", text[:300])):
        sent = {"size": "1 GB", "ranks": 8, "bandwidth": "1 GB/s", key: text}
        answer = client.post(address, json=sent, headers=bearer)
        assert answer.status_code in (404, 413, 422), answer.text[:200]
        assert len(answer.json()["detail"]) <= LONGEST
    for line in (
        {"model": text, "cluster": "64 H100", "layout": {}},
        {"model": "Llama-3.1-8B", "cluster": text, "layout": {text[:300]: 1}},
        {"model": "Llama-3.1-8B", "cluster": "64 H100", "layout": {"tensor": text}},
        {text[:300]: text},
    ):
        answer = client.post("/api/v1/predict", content=json.dumps(line), headers=bearer)
        assert answer.status_code == 200
        assert len(answer.json()["error"]) <= LONGEST


@pytest.mark.slow(30)
@each("name", ("HTML", "bidi", "long"))
def test_reports_quote_what_a_file_says(client: TestClient, name: str) -> None:
    text = clean(TEXTS[name])
    events = [
        {"ph": "X", "name": text, "cat": cat, "ts": at * 100, "dur": 50, "pid": 0, "tid": 7, "args": {"stream": 7}}
        for at, cat in enumerate(("kernel", "user_annotation", "cpu_op"))
    ]  # fmt: skip
    trace = {"traceEvents": events, "deviceProperties": [{"name": text}], "schemaVersion": text}
    log = f"# nThread 1 {text}\n#  Rank  0 Group  0 on {text} device  0\n{text}\n"
    results = {"results": [{"size": 8, "time": 1, "collective": text, "name": text}], "title": text}
    progress = {"format": text, "version": 1, "answers": [{"exercise": text, "at": text}]}
    for address, content in (
        ("/measured", json.dumps(trace)),
        ("/measured", log),
        ("/measured", text),
        ("/measured", json.dumps(results)),
        ("/progress/import", json.dumps(progress)),
        ("/progress/import", text),
    ):
        files = {"file": (f"{text[:100]}.json", content.encode())}
        answer = client.post(address, files=files, headers={"Accept-Language": "de"})
        assert answer.status_code < 500, answer.text[:300]
        assert troubles(answer.text) == []

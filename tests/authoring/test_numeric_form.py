"""The form of `wallclock preview --new`, and the files that it makes."""

import random
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import httpx2
import pytest
import yaml
from fastapi.testclient import TestClient

from app.authoring.preview import preview_app
from app.authoring.preview.numeric_form import NumericDraft, numeric_text
from app.main import create_site
from app.server.config import Settings
from tests.authoring.test_preview import KEY, OWN
from tests.content.test_catalog import GOOD
from tests.each import each
from tests.hostile import TEXTS as HOSTILE

pytestmark = pytest.mark.slow(10)

Sent = dict[str, list[str]]
FILLED: Sent = {
    "name": ["bytes-of-a-ring"],
    "title": ["Bytes that a ring sends"],
    "level": ["2"],
    "given": ["ranks", "size", "", ""],
    "values": ["8, 4, 16", "1 GB,4 GB", "", ""],
    "prompt": ["{ranks} ranks sum a gradient of {size} in a ring. How many bytes does each rank send to its neighbor?"],
    "answer": ["collectives.ring_all_reduce_bytes"],
    "unit": ["GB"],
    "tolerance": ["1 %"],
    "mistakes": ["2 * size", "size * (ranks - 1) / ranks", ""],
    "says": ["A rank never sends a chunk to itself.", "That is one phase: the first of two.", ""],
    "hints": ["How large is a chunk?", "How many steps does each phase take?", ""],
    "solution": ["Two phases of {ranks - 1} steps, each of {size / ranks}:\r\n\r\n{answer}."],
    "sources": ["https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md"],
}
MADE = """\
kind: numeric
title: Bytes that a ring sends
level: 2
prompt: >
  {ranks} ranks sum a gradient of {size} in a ring. How many bytes does each rank send to its
  neighbor?
given:
  ranks: [8, 4, 16]
  size: [1 GB, 4 GB]
answer: collectives.ring_all_reduce_bytes
unit: GB
tolerance: 1 %
mistakes:
  2 * size: A rank never sends a chunk to itself.
  size * (ranks - 1) / ranks: "That is one phase: the first of two."
hints:
  - How large is a chunk?
  - How many steps does each phase take?
solution: |
  Two phases of {ranks - 1} steps, each of {size / ranks}:

  {answer}.
sources:
  - https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("courses") / "my-course"


@pytest.fixture(scope="module")
def client(folder: Path, settings: Settings) -> Iterator[TestClient]:
    database = f"sqlite:///{folder.parent / 'p.db'}"
    site = create_site(settings.model_copy(update={"database": database}))
    with TestClient(preview_app(folder / "first.yaml", site, KEY, new=True)) as made:
        yield made


def sent(client: TestClient, form: Sent, to: str = "", **headers: str) -> httpx2.Response:
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    body = urlencode(form, doseq=True)
    return client.post(f"/preview/new{to}", content=body, headers={**kind, **OWN, **headers})


def test_a_form_makes_a_file_in_the_style_of_the_course() -> None:
    assert numeric_text(NumericDraft.of(FILLED)) == MADE


def test_a_file_of_the_form_is_proven_beside_it_and_then_made(client: TestClient, folder: Path) -> None:
    page = client.get("/preview/new?name=bytes-of-a-ring")
    assert page.status_code == 200
    assert 'value="bytes-of-a-ring"' in page.text
    assert client.get("/preview").status_code == 404
    draft = sent(client, FILLED, "/draft?page=1").text
    assert "Proven" in draft
    assert "2 * size: A rank never" in draft
    assert "8 ranks sum" in client.get("/exercises/my-course/bytes-of-a-ring").text
    assert not folder.exists()
    made = sent(client, FILLED)
    assert (made.status_code, made.text) == (201, "bytes-of-a-ring")
    assert (folder / "bytes-of-a-ring.yaml").read_text(encoding="utf-8") == MADE
    assert (folder / "topic.yaml").exists()
    assert "8 ranks sum" not in client.get("/preview").text  # in the frame
    assert "{ranks} ranks sum" in client.get("/preview?name=bytes-of-a-ring").text
    again = sent(client, FILLED)
    assert again.status_code == 422
    assert "already exists" in again.text


def test_what_is_missing_is_said_and_the_form_is_never_an_error(client: TestClient) -> None:
    for form in ({}, {"title": ["Only a title"]}, {**FILLED, "given": ["ranks"], "values": [""]}):
        draft = sent(client, form, "/draft")
        assert draft.status_code == 200
        assert "problem" in draft.text


@each(
    ("changed", "field", "says"),
    [
        ({"name": ["Bytes Of A Ring"]}, "name", "lowercase letters, digits and hyphens"),
        ({"title": ["A"]}, "title", "The title has 3 to 80 characters."),
        ({"given": ["Size of it", "ranks"]}, "given", "Size of it cannot be a name in an expression"),
        ({"given": ["answer", "size"]}, "given", "answer is the name of the right answer"),
        ({"values": ["8, 4", "1,5 GB, 4 GB"]}, "given", "write decimals with a point, as in 1.5 GB"),
        ({"values": ["4..16", "1 GB"]}, "given", "4..16 is not a value: write each one, such as 4, 16."),
        ({"values": ["8", "1 GB, 4 s"]}, "given", "size has values of different kinds: 1 GB and 4 s."),
        ({"values": ["8", "1 Gigabyte"]}, "given", "size: "),
        ({"values": ["8", ""]}, "given", "size has no values"),
        ({"prompt": [""]}, "prompt", "Write the question."),
        ({"answer": ["2 *"]}, "answer", "a number or a name is missing"),
        ({"answer": ["1,5 * size"]}, "answer", "1,5 has a comma: write 1.5."),
        ({"answer": [""]}, "answer", "Write an expression of the values"),
        ({"unit": ["Gigs"]}, "unit", "Gigs is not a unit here."),
        ({"tolerance": ["much"]}, "tolerance", "Write the tolerance as 1 %"),
        ({"says": ["", "One phase."]}, "mistakes", "2 * size: write what to say to those who give it."),
        ({"mistakes": ["2 * size", ""]}, "mistakes", "Foresee at least two wrong answers."),
        ({"mistakes": ["2 * size", "size / (1 s)"]}, "mistakes", "and the answer is in GB"),
        ({"hints": ["One?"]}, "hints", "Give at least two hints"),
        ({"solution": [""]}, "solution", "Write the solution, step by step."),
        ({"sources": [""]}, "sources", "Give the address of a page"),
        ({"sources": ["a book"]}, "sources", "a book is not the address of a page"),
    ],
)
def test_each_field_is_judged_by_itself_in_words_of_its_label(
    client: TestClient, changed: Sent, field: str, says: str
) -> None:
    empty: Sent = {"hints": [""], "solution": [""], "sources": [""]}
    for others in ({}, empty):
        draft = unescape(sent(client, {**FILLED, "name": ["another-ring"], **others, **changed}, "/draft").text)
        assert says in draft
        fields = re.findall(r'data-field="(\w+)"', draft)
        assert set(fields) == {field, *others}
        told = draft.partition("<details>")[0]
        assert not re.search(r"is missing</span>|must be|sources\.\d|hints:|`\w+`", told)


def test_what_the_form_lacks_hides_no_finding_of_the_other_fields(client: TestClient) -> None:
    form = {**FILLED, "name": ["third-ring"], "hints": [""], "prompt": ["How many bytes of {size} for {rank}?"]}
    draft = unescape(sent(client, form, "/draft").text)
    assert "'rank' is not known here" in draft
    assert {"hints", "prompt"} <= set(re.findall(r'data-field="(\w+)"', draft))
    assert "7.13" not in draft


@each("name", ["", "../first", "a/b", "A", "é", "a.de", "topic", "pack", "-a", "a\n", "a" * 99, "a\0b"])
def test_a_new_file_is_in_the_folder_and_no_other_kind_of_file(client: TestClient, folder: Path, name: str) -> None:
    before = sorted(folder.parent.rglob("*"))
    assert sent(client, {**FILLED, "name": [name]}).status_code == 422
    assert sorted(folder.parent.rglob("*")) == before


def test_a_new_file_is_not_written_through_a_link(client: TestClient, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "dangling.yaml").symlink_to(folder.parent / "outside.yaml")
    assert sent(client, {**FILLED, "name": ["dangling"]}).status_code == 422
    assert not (folder.parent / "outside.yaml").exists()
    (folder / "dangling.yaml").unlink()


@each(
    ("headers", "status"),
    [
        ({"X-Preview-Key": ""}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Host": "evil.example"}, 421),
    ],
)
def test_another_site_makes_no_file(client: TestClient, folder: Path, headers: dict[str, str], status: int) -> None:
    for to in ("", "/draft"):
        form = {**FILLED, "name": ["of-another-site"]}
        assert sent(client, form, to, **headers).status_code == status
    assert not (folder / "of-another-site.yaml").exists()


TEXTS = [
    *HOSTILE.values(), "yes", "null", "~", "12", "1.5", "- a", "a: b", "# a", "a # b", "{a}", "[a]", "'a'", '"a"', "*a", "&a",
    "!a", "%a", "@a", "`a`", "> a", "| a", "a\n  b\nc", "  a", "a\\n", "2026-11-26", "=", "<<", "x" * 200, "word " * 60,
    "a  b " * 40, "é\u200cü", "a:", ":a", "?", "? a", "- ", "...", "---",
]  # fmt: skip


def read(text: str) -> dict[str, object]:
    found = yaml.load(text, Loader=yaml.BaseLoader)
    assert isinstance(found, dict)
    return found


def test_every_text_of_a_form_is_read_as_it_was_meant() -> None:
    choose = random.Random(7)
    for text in TEXTS:
        other = choose.choice(TEXTS)
        form = NumericDraft.of(
            {
                "title": [text], "level": [other], "prompt": [other], "answer": [text], "solution": [text],
                "mistakes": [f"m {text}"[:900]], "says": [other], "hints": [text, other], "sources": [text],
                "given": ["x"], "values": [text],
            }
        )  # fmt: skip
        made = read(numeric_text(form))
        assert str(made["title"]).rstrip("\n") == form.title.rstrip("\n")
        assert str(made["prompt"]).rstrip("\n") == form.prompt.rstrip("\n")
        assert str(made["solution"]).rstrip("\n") == form.solution.rstrip("\n")
        assert made["mistakes"] == dict(form.mistakes)
        assert made.get("hints", []) == list(form.hints)
        values = [part.strip() for part in form.given[0][1].split(",") if part.strip()]
        assert made["given"] == {"x": values}


def test_a_form_beside_other_files_lists_them(tmp_path: Path, settings: Settings) -> None:
    folder = tmp_path / "another"
    folder.mkdir()
    (folder / "first.yaml").write_text(GOOD, encoding="utf-8")
    site = create_site(settings.model_copy(update={"database": f"sqlite:///{tmp_path / 'q.db'}"}))
    with TestClient(preview_app(folder / "second.yaml", site, KEY, new=True)) as client:
        assert "/preview/new" in client.get("/preview?name=first").text
        form = {**FILLED, "name": ["second"]}
        assert sent(client, form).status_code == 201
        assert "/preview?name=second" in client.get("/preview?name=first").text

"""The documentation reads well on the site and in the repository."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fastapi.testclient import TestClient

from app.core.folders import ROOT
from app.course.content.catalog import Catalog
from app.course.kinds import KINDS
from app.site.web.reference.docs import documentation
from tests.each import each

FOLDER = ROOT / "app" / "docs"
FILES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted(FOLDER.glob("*.md")))
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def test_every_file_is_a_page_and_in_the_list(client: TestClient) -> None:
    listed = client.get("/docs").text
    assert len(documentation()) >= 7
    for name, page in documentation().items():
        assert f'<a href="/docs/{name}">{page.title}</a>' in listed
        assert page.sections
        shown = client.get(f"/docs/{name}").text
        assert f"<h1>{page.title}</h1>" in shown
        for section in page.sections:
            assert f'href="#{section.id}"' in shown
            assert f'id="{section.id}"' in shown


def test_pages_of_the_site_that_are_named_are_links(client: TestClient) -> None:
    assert '<a href="/api/docs"><code>/api/docs</code></a>' in client.get("/docs/grading").text
    assert '<a href="/authoring"><code>/authoring</code></a>' in client.get("/docs").text


def test_a_page_that_is_not_there_offers_the_nearest(client: TestClient) -> None:
    answer = client.get("/docs/setting")
    assert answer.status_code == 404
    assert "settings" in answer.text


@pytest.mark.parametrize("name", documentation())
def test_its_links_lead_to_pages_and_headings_of_the_site(client: TestClient, name: str) -> None:
    body = str(documentation()[name].body)
    for address in map(unescape, re.findall(r'href="([^"]+)"', body)):
        parts = urlsplit(address)
        answer = client.get(parts.path or f"/docs/{name}")
        assert answer.status_code == 200, address
        assert not parts.fragment or f'id="{parts.fragment}"' in answer.text, address


@each("file", FILES, ids=lambda file: file.name)
def test_its_links_lead_to_files_of_the_repository(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    for address in LINK.findall(FENCED.sub("", text)):
        parts = urlsplit(address)
        if not parts.scheme:
            assert (file.parent / parts.path).exists(), address


@each("file", FILES, ids=lambda file: file.name)
def test_its_lines_fit_a_terminal(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    code = [line for line in lines if not line.startswith("|")]
    assert [line for line in code if len(line) > 120] == []


def _kinds_in_table(page: str, heading: str) -> set[str]:
    """The kinds in the first column of the table under *heading*."""
    _, _, section = (FOLDER / page).read_text("utf-8").partition(f"\n## {heading}\n")
    rows = re.findall(r"^\| (`.+?`) \|", section.partition("\n## ")[0], re.MULTILINE)
    return {kind for row in rows for kind in re.findall(r"`(\w+)`", row)}


@each("page, heading", [("grading.md", "Answers by kind"), ("authoring.md", "Kinds")])
def test_a_page_lists_every_kind_of_exercise(page: str, heading: str) -> None:
    assert _kinds_in_table(page, heading) == KINDS.keys()


def test_an_answer_to_every_kind_has_the_form_that_the_page_gives(catalog: Catalog) -> None:
    """A string, a list or an object of strings, as `wallclock answers` prints it."""
    _, _, section = (FOLDER / "grading.md").read_text("utf-8").partition("\n## Answers by kind\n")
    for name, kind in KINDS.items():
        (says,) = re.findall(rf"^\| .*`{name}`.* \| (.+) \|$", section, re.MULTILINE)
        right = catalog.exercise(kind.sample).right_answer(0)
        told = "an object" if isinstance(right, dict) else "list" if isinstance(right, list) else ""
        assert told in says, name
        if isinstance(right, dict):
            assert set(re.findall(r"`(\w+)`", says)) <= right.keys(), name

"""The search: what comes first, what is said where nothing is found, and odd queries."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.core.formulas import FORMULAS
from app.core.translation import SOURCE, speaking
from app.core.yaml_file import read_document
from app.course.content.catalog import Catalog
from app.course.content.course import read_course
from app.course.content.errata import errata, question_file, terms
from app.course.explorers import explorer_pages
from app.labs.spec import known_labs
from app.main import create_app
from app.server.config import Settings
from app.site.web.cache_files import index_file
from app.site.web.reference.docs import documentation
from app.site.web.search.entries import entries, index_of
from app.site.web.search.index import Index, Kind, SearchEntry, kind_asked
from tests.client import Client
from tests.each import each

QUERIES = Path(__file__).parent / "queries.yaml"


@pytest.fixture(scope="module")
def index(catalog: Catalog) -> Index:
    return index_of(catalog)


def first(index: Index, query: str) -> str:
    entry = index.find(query).entries[0]
    return f"{entry.kind}: {entry.title}"


# What a person types, and what they would want to see first.
BEST = {
    "all-reduce": "Term: all-reduce",
    "ring all-reduce": "Chapter: Ring all-reduce",
    "allreduce": "Term: all-reduce",
    "Ring All Reduce": "Chapter: Ring all-reduce",
    "bubble": "Term: bubble",
    "bubble_fraction": "Formula: bubble_fraction",
    "pipeline.bubble_fraction": "Formula: bubble_fraction",
    "zero stage 3": "Exercise: Traffic of ZeRO stage 3",
    "pipelines": "Chapter: Pipeline parallelism",
    "pipelin": "Chapter: Pipeline parallelism",
    "E-11": "Erratum: The extra traffic of full sharding",
    "375 %": "Erratum: A bubble fraction that exceeds one",
    "$618": "Erratum: The cost of a crash",
    "MI300X": "Hardware: MI300X",
    "kv cache": "Term: KV cache",
    "the kv cache of a context": "Exercise: KV cache of a context",
    "1F1B": "Term: 1F1B",
    "learning rate": "Chapter: Learning rate and batch size",
    "write exercises": "Page: Write exercises",
    "memroy": "Chapter: ZeRO memory",
}


@each(("query", "best"), BEST.items())
def test_what_is_meant_comes_first(index: Index, query: str, best: str) -> None:
    assert first(index, query) == best


@pytest.fixture(scope="module")
def indexes(catalog: Catalog, index: Index) -> dict[str, Index]:
    """The index of each language."""
    found = {SOURCE: index}
    for code in ("de", "zh"):
        with speaking(code):
            found[code] = index_of(catalog)
    return found


def typed_queries() -> Iterator[tuple[str, str, list[str]]]:
    for code, queries in read_document(QUERIES).values.items():
        assert isinstance(queries, dict)
        yield from ((code, str(query), pages) for query, pages in queries.items())


@each(("code", "query", "pages"), typed_queries())
def test_what_a_person_types_finds_the_page_that_answers(
    indexes: dict[str, Index], code: str, query: str, pages: list[str]
) -> None:
    with speaking(code):
        assert indexes[code].find(query).entries[0].href in pages


def test_every_page_that_answers_questions_can_be_found(catalog: Catalog) -> None:
    assert set(question_file().pages) <= {entry.href for entry in entries(catalog)}


def test_a_word_that_is_a_term_is_not_taken_for_a_part_of_another() -> None:
    inside = SearchEntry(kind="Exercise", title="Resharding", href="/inside", says="")
    term = SearchEntry(kind="Term", title="shard", href="/term", says="")
    assert [one.href for one in Index([inside]).find("shard").entries] == ["/inside"]
    assert [one.href for one in Index([inside, term]).find("shard").entries] == ["/term"]


def test_a_word_that_names_a_kind_of_page_prefers_that_kind() -> None:
    kinds: tuple[Kind, ...] = ("Exercise", "Term", "Formula", "Lab", "Erratum")
    index = Index([SearchEntry(kind=kind, title="bubble", href=kind, says="") for kind in kinds])
    for word, kind in (("formula", "Formula"), ("lab", "Lab"), ("erratum", "Erratum"), ("exercise", "Exercise")):
        assert index.find(f"bubble {word}").entries[0].href == kind
    assert kind_asked("formula") is None  # a page of formulas, not one of them


def test_a_formula_comes_with_its_chapter_before_any_other_of_its_kind(index: Index) -> None:
    kinds = [entry.kind for entry in index.find("2(N-1)/N").entries[:2]]
    assert kinds == ["Chapter", "Formula"]


@each("query", ["zero", "bubble", "memory", "all-reduce", "pipeline", "checkpoint"])
def test_formulas_do_not_crowd_out_what_explains_them(index: Index, query: str) -> None:
    kinds = [entry.kind for entry in index.find(query).entries[:8]]
    assert kinds.count("Formula") < 4
    assert "Formula" not in kinds[:2]


def test_everything_can_be_found_by_its_title(index: Index, catalog: Catalog) -> None:
    titles = {
        "Chapter": [topic.title for topic in catalog.topics],
        "Exercise": [exercise.title for exercise in catalog.exercises],
        "Explorer": [one.title for one in explorer_pages()],
        "Formula": [name.partition(".")[2] for name in FORMULAS],
        "Term": [term.term for term in terms().values()],
        "Erratum": [erratum.title for erratum in errata()],
        "Lab": [lab.title for lab in known_labs().values()],
        "Page": [page.title for page in documentation().values()],
    }
    for kind, those in titles.items():
        for title in those:
            best = index.find(title).entries[:5]
            assert any(one.kind == kind and one.title == title for one in best), f"{kind}: {title}"


def entry(title: str, keywords: str = "", text: str = "") -> SearchEntry:
    return SearchEntry(kind="Page", title=title, href=f"/{title}", says="", keywords=keywords, text=text)


def found(made: Index, query: str) -> list[str]:
    return [one.title for one in made.find(query).entries]


def test_a_title_counts_more_than_a_keyword_and_a_keyword_more_than_a_text() -> None:
    made = Index([entry("a", text="ring"), entry("b", keywords="ring"), entry("ring"), entry("other")])
    assert found(made, "ring") == ["ring", "b", "a"]


def test_all_words_must_be_there_and_most_of_them_where_none_has_all() -> None:
    made = Index([entry("ring tree"), entry("ring mesh"), entry("tree mesh time")])
    assert found(made, "ring mesh") == ["ring mesh"]
    partly = made.find("ring mesh time")
    assert {one.title for one in partly.entries} == {"ring mesh", "tree mesh time"}
    assert partly.partly


def test_the_beginning_of_a_word_finds_it_after_the_word_itself() -> None:
    made = Index([entry("collective"), entry("collect")])
    assert found(made, "collect") == ["collect", "collective"]
    assert found(made, "collectiv") == ["collective"]


def test_a_word_with_a_letter_too_few_finds_the_one_that_is_meant() -> None:
    made = Index([entry("checkpoints"), entry("bubble")])
    answer = made.find("chxckpoint")
    assert ([one.title for one in answer.entries], answer.instead) == (["checkpoints"], "checkpoint")
    assert made.find("checkpoints").instead == ""


def words(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_the_page_works_without_scripts_and_can_be_narrowed(client: TestClient) -> None:
    page = client.get("/search?q=bubble").text
    assert 'value="bubble"' in page
    assert 'href="/glossary#bubble"' in page
    assert 'href="/search?q=bubble&amp;kind=Formula">Formulas</a>' in page
    narrowed = client.get("/search?q=bubble&kind=Formula").text
    hits = re.findall(r'<ol class="hits">(.*?)</ol>', narrowed, re.DOTALL)[0]
    assert set(re.findall(r'href="/([a-z]+)[/"]', hits)) == {"formulas"}


def test_every_hit_leads_somewhere(client: TestClient) -> None:
    for query in ("bubble", "H100", "settings", "E-11", "lab", "export"):
        page = client.get(f"/search?q={query}").text
        for href in re.findall(r'<li><a href="([^"]+)">', page):
            path, _, place = unescape(href).partition("#")
            answer = client.get(path)
            assert answer.status_code == 200, href
            assert not place or f'id="{place}"' in answer.text, href


def test_a_script_gets_a_short_list(client: TestClient) -> None:
    part = client.get("/search?q=bubble", headers={"X-Fragment": "1"}).text
    assert part.lstrip().startswith('<div id="hits">')
    assert part.count("<li>") == 8
    assert 'href="/search?q=bubble">All' in part


def test_where_nothing_is_found_it_says_what_to_try(client: TestClient) -> None:
    page = client.get("/search?q=xyzzy").text
    assert "No page has “xyzzy”, nor a word like it. Try fewer words" in words(page)
    assert 'href="/search?q=bubble+fraction"' in page
    assert "Nothing found" not in client.get("/search").text


def test_a_misspelled_word_is_said_to_be_one(client: TestClient) -> None:
    assert "Nothing has “memroy”. These have memory :" in words(client.get("/search?q=memroy").text)


ODD = [
    "", "   ", "%", "the", "a" * 5000, "<script>alert(1)</script>", "🚀", "..", "1" * 300, "é́",
    "-", "a " * 3000, "' OR 1=1 --", "{{7*7}}", "ﬁ", "0,5", "٣",
]  # fmt: skip


@pytest.mark.parametrize("query", ODD)
def test_an_odd_query_is_answered(client: TestClient, query: str) -> None:
    answer = client.get("/search", params={"q": query[:2000]})
    assert answer.status_code == 200
    assert "<script>alert" not in answer.text
    assert client.get("/search", params={"q": "bubble", "kind": query[:50]}).status_code == 200


def has_index(course: Catalog, settings: Settings) -> bool:
    file, key = index_file(course, settings)
    return file.has(key)


def test_an_index_is_stored_for_the_next_start_by_course_and_language(tmp_path: Path) -> None:
    settings = Settings(cache=tmp_path)
    course = read_course(settings)
    assert not has_index(course, settings)
    built = index_of(course, settings)
    assert has_index(course, settings)
    stored = index_of(course, settings)
    for query in ("ring all-reduce", "375 %", "memroy", "6 * parameters * tokens"):
        assert stored.find(query) == built.find(query)
    with speaking("de"):
        assert not has_index(course, settings)
    assert not has_index(replace(course, digest="another"), settings)


def test_an_index_that_no_earlier_start_left_is_built_before_the_first_request(tmp_path: Path) -> None:
    settings = Settings(cache=tmp_path, database=f"sqlite:///{tmp_path / 'wallclock.db'}", runs=tmp_path / "runs")
    for expected in ({SOURCE}, set()):
        app = create_app(settings)
        with Client(app) as client:
            assert {code for code, task in app.state.indexes.items() if task.done()} == expected
            assert "Ring all-reduce" in client.get("/search?q=ring+all-reduce").text

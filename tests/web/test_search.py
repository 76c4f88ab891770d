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
from app.site.web.search.index import (
    Index,
    Kind,
    SearchEntry,
    asks_meaning,
    count_words,
    index_words,
    kind_asked,
    phrase_words,
    query_words,
)
from app.site.web.search.page import search_page
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


@each(
    ("text", "words"),
    [
        ("Losses of a Bus, gas and CPUS", ["losse", "of", "a", "bus", "gas", "and", "cpus"]),
        ("bass basis virus", ["bass", "basis", "virus"]),
        ("toys mass", ["toy", "mass"]),
        ("1,234.5 and 10.000", ["1234.5", "and", "10.000"]),
        ("a_b-c", ["a", "b", "c"]),
        ("x" * 50, ["x" * 40]),
        ("9" * 50, ["9" * 40]),
        ("显", ["显"]),
        ("显存GPU带宽x", ["显存", "gpu", "带宽", "x"]),
        ("ＧＰＵ ①", ["gpu", "1"]),
    ],
)
def test_words_are_in_lower_case_and_in_the_singular(text: str, words: list[str]) -> None:
    assert index_words(text) == words


def test_a_word_with_a_hyphen_is_one_word_and_its_parts() -> None:
    assert count_words("All-reduces, all") == {"all": 2, "reduce": 1, "allreduce": 1}
    assert phrase_words("all-reduce") == {"all", "reduce", "allreduce"}


@each(
    ("query", "words", "means"),
    [
        ("What is a bubble?", ["bubble"], True),
        ("how is it", ["how", "is", "it"], False),
        ("bubble bubble GPU", ["bubble", "gpu"], False),
        ("definition of one two tree lane", ["two", "tree", "lane"], True),
        ("meaning of two tree lane root", ["two", "tree", "lane", "root"], False),
        ("MFU stands for", ["mfu"], True),
        ("somewhat is", ["somewhat"], False),
        ("什么是显存", ["显存"], True),
        ("什么是", ["什么", "么是"], True),
    ],
)
def test_the_words_of_a_question_are_those_that_say_what_it_is_about(query: str, words: list[str], means: bool) -> None:
    assert query_words(query) == words
    assert asks_meaning(query) is means


def small(*entries: tuple[str, str, str] | SearchEntry, alike: dict[str, str] | None = None) -> Index:
    """An index of terms by title, keywords and text."""
    made = [
        one if isinstance(one, SearchEntry)
        else SearchEntry(kind="Exercise", title=one[0], href=f"/{n}", says="", keywords=one[1], text=one[2])
        for n, one in enumerate(entries)
    ]  # fmt: skip
    return Index(made, alike)


def titles(index: Index, query: str) -> list[str]:
    return [one.title for one in index.find(query).entries]


def test_a_word_counts_more_when_it_is_repeated_but_not_more_than_three_times() -> None:
    texts = [(f"t{count}", "", "tree " * count) for count in (1, 3, 9, 2)]
    assert titles(small(*texts, ("other", "", "lane")), "tree") == ["t3", "t9", "t2", "t1"]


def test_a_rare_word_tells_more_than_one_that_many_have() -> None:
    index = small(("a", "", "tree"), ("b", "", "lane"), *((f"c{n}", "", "lane") for n in range(9)))
    assert titles(index, "lane tree")[0] == "a"


def test_a_word_inside_another_is_found_if_it_is_long_and_no_term() -> None:
    index = small(("x", "", "hauptspeicher"), ("y", "", "speicher"))
    assert titles(index, "speicher") == ["y", "x"]
    assert titles(small(("x", "", "treehouses")), "house") == ["x"]
    assert titles(small(("x", "", "atreeb"), ("z", "", "tree")), "tree") == ["z"], "four letters"
    term = SearchEntry(kind="Term", title="house", href="/t", says="")
    assert titles(small(("x", "", "treehouses"), term), "house") == ["house"]


def test_a_word_that_means_another_finds_it_after_the_word_itself() -> None:
    index = small(("tree", "", ""), ("lane", "", ""), alike={"baum": "tree", "lane": "tree"})
    assert titles(index, "baum") == ["tree"]
    assert index.find("baum").instead == ""
    assert titles(index, "lane") == ["lane", "tree"]


def test_a_misspelled_word_is_said_and_one_that_is_two_is_split() -> None:
    index = small(("gradient", "", ""), ("clock speed", "", ""))
    assert (index.find("gradeint").instead, titles(index, "gradeint")) == ("gradient", ["gradient"])
    assert (index.find("clockspeed").instead, titles(index, "clockspeed")) == ("clock speed", ["clock speed"])
    assert (index.find("qqqqqq").instead, titles(index, "qqqqqq")) == ("", [])
    assert titles(index, "gradientenabstieg") == ["gradient"]
    found = index.find("gradient speed zzz")
    assert found.partly


def test_two_words_that_are_written_with_a_hyphen_are_one() -> None:
    index = small(("all-reduce", "", ""), ("all", "", ""), ("reduce", "", ""))
    assert titles(index, "all reduce")[0] == titles(index, "allreduce")[0] == "all-reduce"


def test_of_a_query_ten_words_are_looked_at() -> None:
    index = small(*((f"word{letter}", "", "") for letter in "abcdefghijkl"))
    assert len(titles(index, " ".join(f"word{letter}" for letter in "abcdefghijkl"))) == 10


def test_the_kind_that_leads_on_comes_first_where_all_else_is_equal() -> None:
    kinds: list[Kind] = ["Formula", "Hardware", "Lab", "Explorer", "Term", "Chapter"]
    made = [SearchEntry(kind=kind, title="tree", href=f"/{kind}", says="") for kind in kinds]
    order = [one.kind for one in small(*made).find("tree branch").entries]
    assert order == ["Chapter", "Term", "Explorer", "Lab", "Hardware", "Formula"]
    assert small(*made).find("tree lab").entries[0].kind == "Lab"
    assert small(*made).find("what is a tree").entries[0].kind == "Term"
    named = [one.kind for one in small(*made).find("tree").entries]
    assert named.index("Formula") < named.index("Lab"), "its name is the query"


def test_a_question_that_a_page_answers_finds_it_before_pages_with_its_words() -> None:
    asked = SearchEntry(kind="Exercise", title="x", href="/x", says="", questions=("how tall is the tree",))
    assert titles(small(("tree tall", "", "tree tall"), asked), "how tall is the tree") == ["x", "tree tall"]


def test_a_page_of_hits_is_cut_counted_and_narrowed() -> None:
    kinds: list[Kind] = ["Term", "Lab", "Term"]
    made = [SearchEntry(kind=kind, title=f"tree {n}", href=f"/{n}", says="") for n, kind in enumerate(kinds)]
    index = Index(made)
    whole, two, labs = (
        search_page(index, "tree", "", 9),
        search_page(index, "tree", "", 2),
        search_page(index, "tree", "Lab", 9),
    )
    assert [len(one.hits) for one in (whole, two, labs)] == [3, 2, 1]
    assert [one.count for one in (whole, two, labs)] == [3, 3, 1]
    assert [(one.link.text, one.count, one.is_on) for one in labs.filters] == [
        ("All", 3, False), ("Terms", 2, False), ("Labs", 1, True),
    ]  # fmt: skip
    assert [one.link.href for one in whole.filters] == [
        "/search?q=tree",
        "/search?q=tree&kind=Term",
        "/search?q=tree&kind=Lab",
    ]
    assert (search_page(index, "zzz", "", 9).filters, whole.all_hits) == ((), "/search?q=tree")


def test_entries_say_where_they_are_and_have_the_names_in_both_languages(catalog: Catalog) -> None:
    found = {one.href: one for one in entries(catalog)}
    topic = catalog.topics[0]
    exercise = topic.exercises[0]
    made = found[f"/exercises/{exercise.id}"]
    assert made.says == f"{topic.title} · {exercise.kind_title} · level {exercise.level}"
    assert made.keywords == f"{' '.join(exercise.skills)} {exercise.label}"
    assert not set("$*`{}") & set(made.text)
    with speaking("de"):
        german = {one.href: one for one in entries(catalog)}
    chapter = german[f"/chapters/{topic.id}"]
    assert chapter.title != topic.title
    assert topic.title in chapter.keywords
    assert topic.title not in found[f"/chapters/{topic.id}"].keywords
    gpu = next(one for one in found.values() if one.kind == "Hardware" and "TFLOPS" in one.keywords)
    assert gpu.href.startswith("/hardware#")
    link = [one for one in found.values() if one.kind == "Hardware" and "TFLOPS" not in one.keywords]
    assert link, "what is no GPU has no arithmetic"
    formula = next(iter(FORMULAS.values()))
    made = found[f"/formulas/{formula.name}"]
    assert (made.title, made.keywords) == (formula.name.split(".")[1], formula.module)

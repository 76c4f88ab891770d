"""What the pages of reference show, as plain values: formulas, records, errata, units and documentation."""

import re
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.requests import Request

from app.core.errors import NotFoundError
from app.core.formulas import FORMULAS
from app.core.formulas.presets import GPUS
from app.course.content.catalog import Catalog
from app.course.content.errata import errata
from app.site.web.reference.docs import SITE_PAGES, docs_page, documentation
from app.site.web.reference.formulas import (
    TABLES,
    FormulaPage,
    anchor_of,
    document_formula,
    equation_lines,
    field_name,
    field_words,
    formula_called,
    formula_groups,
    formula_page,
    formula_title,
)
from tests.each import each

RING = "collectives.ring_all_reduce_time"
FIRST = {"size": "2 GB", "ranks": "8", "bandwidth": "50 GB/s"}


def page(catalog: Catalog, name: str = RING, **given: str) -> FormulaPage:
    return formula_page(catalog, formula_called(name), given)


def test_a_calculator_says_what_is_missing_only_once_it_was_begun(catalog: Catalog) -> None:
    assert (page(catalog).problem, page(catalog).result) == ("", "")
    assert page(catalog, unknown="1").problem == ""
    assert page(catalog, size="2 GB").problem == "still needed: ranks, bandwidth"
    assert (page(catalog, **FIRST).result, page(catalog, **FIRST).problem) == ("70 ms", "")
    assert page(catalog, **FIRST, latency="1 ms").result == "84 ms"


def test_a_calculator_takes_arithmetic_and_tells_its_value(catalog: Catalog) -> None:
    found = page(catalog, **{**FIRST, "ranks": "2 * 4", "size": "4 * 500 MB"})
    assert (found.result, dict(found.worked)) == ("70 ms", {"ranks": "8", "size": "2 GB"})
    assert page(catalog, **FIRST).worked == ()
    assert page(catalog, **{**FIRST, "size": "2 s"}).problem.startswith("size: ")
    assert page(catalog, **{**FIRST, "ranks": "0"}).problem


def test_the_fields_of_a_calculator_keep_what_was_typed(catalog: Catalog) -> None:
    fields = {one.name: one for one in page(catalog, size="2 GB").arguments}
    assert (fields["size"].value, fields["ranks"].value) == ("2 GB", "")
    assert (fields["size"].unit, fields["ranks"].unit, fields["latency"].unit) == ("B", "count", "s")
    assert (fields["size"].needed, fields["latency"].needed, fields["latency"].default) == (True, False, "0 s")
    assert fields["size"].says == document_formula(FORMULAS[RING]).arguments["size"]


def test_a_formula_is_used_by_exercises_and_corrected_by_errata(catalog: Catalog) -> None:
    exercises = errors = 0
    for formula in FORMULAS.values():
        found = page(catalog, formula.name)
        exercises += len(found.exercises)
        errors += len(found.errata)
        assert [one.href for one in found.exercises] == [
            f"/exercises/{one.id}" for one in catalog.exercises if formula.name in one.dotted
        ]
    assert exercises > 100
    assert errors == sum(len({name for row in one.worked for name in row.formulas} & set(FORMULAS)) for one in errata())


def test_formulas_are_in_groups_with_their_names_in_words() -> None:
    groups = formula_groups()
    assert [entry.name for _, _, entries in groups for entry in entries] == list(FORMULAS)
    assert {module: title for module, title, _ in groups}["batching"] == "Batches and rates"
    assert formula_title(FORMULAS[RING]) == "Ring all reduce time"
    assert all(entry.name == f"{module}.{entry.short}" for module, _, entries in groups for entry in entries)
    assert "T = 2 (ranks - 1) (latency + size / (ranks * bandwidth))" in equation_lines(FORMULAS[RING])


def test_a_formula_that_there_is_not_offers_the_nearest() -> None:
    with pytest.raises(NotFoundError, match="did you mean"):
        formula_called("collectives.ring_allreduce_time")


@each(
    ("name", "words"),
    [
        ("gpu", "GPU"),
        ("peak_8bit", "peak, 8 bits"),
        ("peak_4bit", "peak, 4 bits"),
        ("memory_bandwidth", "memory bandwidth"),
    ],
)
def test_the_fields_of_records_are_words(name: str, words: str) -> None:
    assert field_words(name) == words


def test_some_fields_have_names_of_their_own() -> None:
    assert [field_name(name) for name in ("nvlink", "sms", "year")] == ["NVLink", "SMs", "year"]


def test_gpus_come_with_the_newest_first_and_each_has_its_place() -> None:
    years = [getattr(gpu, "year", 0) for gpu in TABLES[0][2].values()]
    assert years == sorted(years, reverse=True)
    gpu = next(gpu for gpu in GPUS.values() if gpu.name == "H100 SXM")
    assert anchor_of(gpu) == "gpu-h100-sxm"


def test_a_table_of_hardware_has_units_and_no_empty_column(client: TestClient) -> None:
    text = client.get("/hardware").text
    assert text.count("<table") >= len(TABLES)
    assert 'id="gpu-h100-sxm"' in text
    row = text.partition('id="gpu-h100-sxm"')[2].partition("</tr>")[0]
    assert ">2022<" in row
    assert "989 TFLOP/s" in row


def links_in(text: str) -> list[tuple[str, str]]:
    """The address and the words of each link."""
    return [
        (unescape(href), unescape(words)) for href, words in re.findall(r'<a [^>]*?href="([^"]*)"[^>]*>(.*?)</a>', text)
    ]


def test_an_erratum_has_its_neighbors_and_what_concerns_it(client: TestClient, catalog: Catalog) -> None:
    every = errata()
    for number, erratum in enumerate(every):
        text = client.get(f"/errata/{erratum.id}").text
        around = [
            (words, one) for words, one in (("Previous", number - 1), ("Next", number + 1)) if one in range(len(every))
        ]
        assert links_in(text.partition('<nav class="foot"')[2].partition("</nav>")[0]) == [
            (f"/errata/{every[one].id}", f"<span>{words}</span>{every[one].title}") for words, one in around
        ]
        crumbs = text.partition('<p class="crumbs">')[2].partition("</p>")[0]
        assert [href for href, _ in links_in(crumbs)] == ["/errata", f"/errata#group-{erratum.severity}"]
        known = [name for name in erratum.exercises if name in catalog.by_id]
        chapters = list(dict.fromkeys(catalog.topic_of(catalog.by_id[name]).id for name in known))
        beside = text.partition('<aside class="aside"')[2].partition("</aside>")[0]
        assert [href for href, _ in links_in(beside)] == [
            *(f"/exercises/{name}" for name in known), *(f"/chapters/{name}" for name in chapters),
        ]  # fmt: skip
        rows = text.partition("<tbody>")[2].partition("</tbody>")[0]
        called = [name for row in erratum.worked for name in row.formulas if name in FORMULAS]
        assert links_in(rows) == [(f"/formulas/{name}", name.partition(".")[2]) for name in called]


def test_errata_are_grouped_by_severity_and_may_be_of_one_chapter(client: TestClient, catalog: Catalog) -> None:
    def groups(path: str) -> dict[str, list[str]]:
        """The errata below each heading."""
        first, *others = re.split(r'id="group-([^"]*)"', client.get(path).text)
        assert "data-entry" not in first
        return {
            name: re.findall(r'<li id="([^"]*)" data-entry', text)
            for name, text in zip(others[::2], others[1::2], strict=True)
        }

    whole = groups("/errata")
    assert whole == {severity: [one.id for one in errata() if one.severity == severity] for severity in "ABC"}
    assert not re.search(r"\d errat(um|a) in ", client.get("/errata").text)
    for topic in catalog.topics:
        concerned = [one for one in errata() if any(catalog.topic_of(catalog.by_id[name]) == topic
                     for name in one.exercises if name in catalog.by_id)]  # fmt: skip
        found = groups(f"/errata?chapter={topic.id}")
        assert found == {
            severity: those
            for severity in "ABC"
            if (those := [one.id for one in concerned if one.severity == severity])
        }, "a group without any is not there"
        noun = "erratum" if len(concerned) == 1 else "errata"
        text = unescape(client.get(f"/errata?chapter={topic.id}").text)
        assert f"{len(concerned)} {noun} in {topic.title}." in text


def request() -> Request:
    return Request({"type": "http", "method": "GET", "headers": []})


def test_a_page_of_documentation_that_there_is_not_offers_the_nearest() -> None:
    name = next(iter(documentation()))
    with pytest.raises(NotFoundError, match=f"no page of the documentation is called '{name}x'; did you mean"):
        docs_page(request(), f"{name}x")
    assert "README" not in documentation()


def test_links_between_files_of_the_documentation_are_those_of_the_site() -> None:
    text = "".join(page.body for page in documentation().values())
    assert '.md"' not in text
    assert 'href="/docs/' in text
    assert "<code>/measured</code></a>" in text
    assert 'href="https://' in text


def test_the_reference_leads_to_pages_of_the_site_with_their_sentences(client: TestClient) -> None:
    text = client.get("/reference").text
    known = {href: title for title, href, _ in SITE_PAGES}
    for href in ("/formulas", "/glossary", "/placement", "/final", "/measured", "/classes", "/docs", "/api/docs"):
        assert f'href="{href}"' in text
        assert str(known[href]) in text


def test_units_are_listed_from_the_smallest_and_alike_ones_are_in_one_row(client: TestClient) -> None:
    text = client.get("/authoring/units").text
    places = [text.index(f">{symbol}<") for symbol in ("ns", "ms", "min")]
    assert places == sorted(places)
    assert "1,073,741,824" in text or "1073741824" in text


def test_the_page_of_authors_has_the_keys_of_every_kind_and_which_are_required(client: TestClient) -> None:
    text = client.get("/authoring").text
    assert "kind: numeric" in text
    for kept in ("digest", "chapter_parameters"):
        assert f"<code>{kept}</code>" not in text


def test_the_description_of_the_api_has_an_example_for_each_call_with_a_body(client: TestClient) -> None:
    text = client.get("/api/docs").text
    document: dict[str, Any] = client.get("/api/v1/openapi.json").json()
    assert all(path.replace("{", "{") in text for path in document["paths"])
    assert "70 ms" in text
    assert "POST" in text

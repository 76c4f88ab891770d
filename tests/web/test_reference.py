import re
from html import unescape

import pytest
from fastapi.testclient import TestClient

from app.core.formulas import FORMULAS, MODULES
from app.core.formulas.presets import CLUSTERS, GPUS, LAWS, LAYOUTS, LINKS, MODELS, RECIPES
from app.course.content.errata import errata, terms


def test_formulas_are_grouped_by_chapter_and_all_are_there(client: TestClient) -> None:
    page = client.get("/formulas").text
    chapters = [module.__name__.rpartition(".")[2] for module in MODULES]
    places = [page.index(f'<dl class="formulas" id="{chapter}">') for chapter in chapters]
    assert places == sorted(places)
    assert all(f'href="/formulas/{name}"' in page for name in FORMULAS)


def test_a_formula_says_where_it_is_used_and_where_it_is_often_wrong(client: TestClient) -> None:
    page = client.get("/formulas/memory.zero_traffic_bytes").text
    assert "/exercises/memory/traffic-of-stage-3" in page
    assert 'href="/errata/E-11"' in page


def test_a_result_with_parts_names_each(client: TestClient) -> None:
    asked = "model=Llama-3.1-8B&cluster=One node of 8 H100&layout=data=8 zero_stage=3"
    page = client.get(f"/formulas/layout.step_time?{asked}").text
    assert page.count("<dt>") == 14
    assert "<dt>element wise</dt>" in page


def test_a_calculator_reads_lists_and_names_and_says_what_is_wrong(client: TestClient) -> None:
    trace = client.get("/formulas/precision.loss_scale?overflows=no,yes&initial=8&growth_interval=3")
    assert "8, 8, 4" in trace.text
    unknown = client.get("/formulas/transformer.model_parameters?shape=Llama-3.1-406B")
    assert "did you mean &#39;Llama-3.1-405B&#39;" in unknown.text


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("collectives.ring_all_reduce_time", "size=7/4 * 2 GB&ranks=2*4&bandwidth=450 GB/s/9",
         "<output>122.5 ms</output>.*= 3.5 GB, .*= 8, .*= 50 GB/s"),
        ("cost.electricity_cost", "gpus=2*8&watts=700 W&duration=2*24 h&dollars_per_kwh=0.1-0.05",
         r"<output>\$?26.88.*= \$0.05/kWh"),
        ("collectives.ring_all_reduce_time", "size=2 GB/(3 s)&ranks=8&bandwidth=50 GB/s",
         "size: cannot read .*the result is in B/s, but B is expected"),
        ("collectives.ring_all_reduce_time", "size=9^9^9^9&ranks=8&bandwidth=1 B/s",
         "size: cannot read .*not a finite number"),
        ("collectives.ring_all_reduce_time", "size=1 GB&ranks=9/2&bandwidth=50 GB/s",
         "ranks must be a whole number, not 4.5"),
    ],
)  # fmt: skip
def test_a_calculator_takes_arithmetic(client: TestClient, name: str, given: str, says: str) -> None:
    pairs = [pair.partition("=")[::2] for pair in given.split("&")]
    shown = client.get(f"/formulas/{name}", params=dict(pairs), headers={"X-Fragment": "1"}).text
    assert re.search(says, unescape(shown), re.DOTALL), shown


def test_formulas_are_shown_as_mathematics_in_the_list(client: TestClient) -> None:
    page = client.get("/formulas").text
    entries = re.findall(r"<div data-entry>(.*?)</div>", page, re.DOTALL)
    assert len(entries) == len(FORMULAS)
    assert all("<math" in entry for entry in entries)


def test_errata_are_all_there_and_each_has_its_page(client: TestClient) -> None:
    page = client.get("/errata").text
    for erratum in errata():
        assert page.count(f'id="{erratum.id}"') == 1
        assert f'href="/errata/{erratum.id}"' in page
        own = client.get(f"/errata/{erratum.id}").text
        assert all(row.value in unescape(own) for row in erratum.worked)


def test_an_erratum_says_why_under_a_title_to_share_and_leads_to_its_exercise(client: TestClient) -> None:
    page = client.get("/errata/E-01").text
    title = "Your source says “375 %”: here is why"
    assert f'<meta property="og:title" content="{title}">' in page
    assert f"<h1>{title}</h1>" in page
    description = re.findall(r'<meta name="description" content="([^"]+)">', page)[0]
    assert description.startswith("A bubble fraction that exceeds one. (p - 1)/m divides idle time")
    assert 'href="/exercises/pipelines/bubble-two-ways">Solve it: Two measures' in page
    assert 'href="/formulas/pipeline.bubble_ratio"' in page
    assert "Solve it" not in client.get("/errata/E-51").text  # it has no exercise


def test_an_erratum_can_be_asked_for_in_lower_case_and_the_nearest_is_offered(client: TestClient) -> None:
    assert client.get("/errata/e-01").status_code == 200
    missing = client.get("/errata/E-1000")
    assert missing.status_code == 404
    assert "did you mean &#39;E-100&#39;" in missing.text


def test_the_errata_of_one_chapter_can_be_chosen_without_scripts(client: TestClient) -> None:
    page = client.get("/errata?chapter=pipelines").text
    shown = re.findall(r'<li id="(E-[^"]+)" data-entry', page)
    chapter = client.app.state.site.catalog.topic("pipelines")  # type: ignore[attr-defined]
    folders = tuple(f"{name}/" for name in chapter.folders)
    expected = [e.id for e in errata() if any(n.startswith(folders) for n in e.exercises)]
    assert shown == expected
    assert f"{len(expected)} errata in Pipeline parallelism." in page
    assert client.get("/errata?chapter=nothing").status_code == 404


@pytest.mark.parametrize("path", ["/errata", "/formulas", "/glossary", "/hardware"])
def test_a_long_page_has_a_filter_and_shows_at_most_ten_rows_before_a_door(client: TestClient, path: str) -> None:
    page = client.get(path).text
    assert "data-filter" in page
    before = page[page.index("data-filter") : page.index("<details")]
    assert before.count("data-entry") <= 10
    assert page.count("data-entry") > 50


def test_every_term_opens_where_its_address_leads(client: TestClient) -> None:
    page = client.get("/glossary").text
    folded = re.findall(r'(?s)<details data-entry><summary[^>]*>.*?</summary>\s*<p id="([^"]+)"', page)
    assert folded == list(terms())


def test_an_exercise_links_to_the_errata_that_touch_it(client: TestClient) -> None:
    assert 'href="/errata/E-03"' in client.get("/exercises/memory/which-layout-fits").text
    assert "/errata/" not in client.get("/exercises/memory/stage-1").text


def test_hardware_and_models_are_all_there_with_their_sources(client: TestClient) -> None:
    page = client.get("/hardware").text
    for known in (GPUS, LINKS, CLUSTERS, MODELS, LAYOUTS, RECIPES, LAWS):
        for record in known.values():
            assert record.name in page
    assert "2.25 PFLOP/s" in page
    assert "unknown" in re.findall(r'<th scope="row">TPU v5p</th>(.*?)</tr>', page)[0]
    assert "750 W" in re.findall(r'<th scope="row">MI300X</th>(.*?)</tr>', page)[0]
    assert "unknown" not in re.findall(r'<th scope="row">H100 PCIe</th>(.*?)</tr>', page)[0]
    assert "arXiv:2407.21783" in page

import re

from fastapi.testclient import TestClient

from app.content.errata import errata
from app.formulas import FORMULAS, MODULES
from app.formulas.presets import CLUSTERS, GPUS, LAYOUTS, LINKS, MODELS, RECIPES


def test_formulas_are_grouped_by_chapter_and_all_are_there(client: TestClient) -> None:
    page = client.get("/formulas").text
    chapters = [module.__name__.rpartition(".")[2] for module in MODULES]
    places = [page.index(f'<section data-group id="{chapter}">') for chapter in chapters]
    assert places == sorted(places)
    assert all(f'href="#{chapter}"' in page for chapter in chapters)
    assert all(f'href="/formulas/{name}"' in page for name in FORMULAS)


def test_a_formula_says_where_it_is_used_and_where_it_is_often_wrong(client: TestClient) -> None:
    page = client.get("/formulas/memory.zero_traffic_bytes").text
    assert "/exercises/memory/traffic-of-stage-3" in page
    assert 'href="/errata#E-11"' in page


def test_a_result_with_parts_names_each(client: TestClient) -> None:
    asked = "model=Llama-3.1-8B&cluster=One node of 8 H100&layout=data=8 zero_stage=3"
    page = client.get(f"/formulas/layout.step_time?{asked}").text
    assert page.count("<dt>") == 9
    assert "<dt>compute</dt>" in page


def test_a_calculator_reads_lists_and_names_and_says_what_is_wrong(client: TestClient) -> None:
    trace = client.get(
        "/formulas/precision.loss_scale?overflows=no,yes&initial=8&growth_interval=3"
    )
    assert "8, 8, 4" in trace.text
    unknown = client.get("/formulas/transformer.model_parameters?shape=Llama-3.1-406B")
    assert "did you mean &#39;Llama-3.1-405B&#39;" in unknown.text


def test_errata_are_all_there_with_their_values_and_links(client: TestClient) -> None:
    page = client.get("/errata").text
    assert all(f'id="{erratum.id}"' in page for erratum in errata())
    assert "117.44 MB" in page
    assert 'href="/formulas/collectives.ring_all_reduce_bytes"' in page
    assert 'href="/exercises/memory/which-layout-fits"' in page


def test_an_exercise_links_to_the_errata_that_touch_it(client: TestClient) -> None:
    assert 'href="/errata#E-03"' in client.get("/exercises/memory/which-layout-fits").text
    assert "/errata#" not in client.get("/exercises/memory/stage-1").text


def test_hardware_and_models_are_all_there_with_their_sources(client: TestClient) -> None:
    page = client.get("/hardware").text
    for known in (GPUS, LINKS, CLUSTERS, MODELS, LAYOUTS, RECIPES):
        for record in known.values():
            assert record.name in page
    assert "2.25 PFLOP/s" in page
    assert "unknown" in re.findall(r'<th scope="row">TPU v5p</th>(.*?)</tr>', page)[0]
    assert "750 W" in re.findall(r'<th scope="row">MI300X</th>(.*?)</tr>', page)[0]
    assert "unknown" not in re.findall(r'<th scope="row">H100 PCIe</th>(.*?)</tr>', page)[0]
    assert "arXiv:2407.21783" in page

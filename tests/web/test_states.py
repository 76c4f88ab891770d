"""From one state of an explorer to others: presets, neighbors, and what changed on the way."""

import re
from html import unescape
from urllib.parse import parse_qsl, urlsplit

from fastapi.testclient import TestClient

from app.core.measurements.published import text_of
from app.course.explorers.published_runs import LLAMA

FIT = "/explore/fit"
TRAINED = LLAMA.state
WAS = "Llama-3.1-405B~H100~16384~50 GB/s~0~8~16~8~1~1~2~1~2048~8192~selective~16-bit~15.6 trillion~2~5"


def shown(client: TestClient, **query: str) -> str:
    return unescape(client.get(FIT, params={**TRAINED, **query}).text)


def links(page: str, within: str) -> dict[str, str]:
    (part,) = re.findall(rf"(?s){within}.*?</(?:nav|section)>", page)
    return {text: href for href, text in re.findall(r'<a href="([^"]+)"[^>]*>([^<]+)</a>', part)}


def test_a_neighbor_is_a_link_that_says_what_changed_on_the_way(client: TestClient) -> None:
    neighbors = links(shown(client), '<section class="states">\n<h2>One change away')
    (nearest,) = (href for text, href in neighbors.items() if text.startswith("Context"))
    there = unescape(client.get(nearest).text)
    assert "was 6.172 s: +0.71 %" in there
    assert "was 42.5 %: −0.3 points" in there
    assert ">before</text>" in there
    assert re.search(r'name="context"\s+value="2"', there)
    assert len(nearest) < 600


def test_a_form_without_scripts_carries_the_state_it_leaves(client: TestClient) -> None:
    assert f'name="was" value="{WAS}"' in shown(client)
    sent = shown(client, stage="3", was=WAS)
    assert "was 6.172 s: +68 %" in sent
    assert 'name="was" value="Llama-3.1-405B~H100~16384~50 GB/s~0~8~16~8~1~1~3~' in sent
    assert "<small>was" not in shown(client, was=WAS)  # nothing changed
    assert "<small>was" not in unescape(client.get(FIT, params={"was": WAS}).text)  # asked first


def test_a_state_before_that_cannot_be_read_is_left_out_and_said(client: TestClient) -> None:
    for was in ("x", "~" * 3, WAS.replace("H100~16384~50", "H100~16384~0"), WAS * 20, WAS + "~1", "<b>~" * 17):
        page = shown(client, stage="3", was=was)
        assert "The earlier state in the address cannot be read" in page, was
        assert "<small>was" not in page
        assert "10.35 s" in page
    assert "cannot be read" not in shown(client, was="")
    assert client.get("/explore/ring?show=1&was=x").text.count("cannot be read") == 0


def test_a_state_is_compared_on_the_same_machine_alone(client: TestClient) -> None:
    assert "<small>was" in shown(client, stage="3", was=WAS)
    for other in ({"gpus": "8192"}, {"gpu": "H200"}, {"model": "Llama-3-8B"}):
        page = shown(client, was=WAS, **other)
        assert "<small>was" not in page
        assert "cannot be read" not in page


def test_the_page_is_found_from_elsewhere(client: TestClient) -> None:
    assert '"/explore/fit"' in client.get("/").text
    assert '"/explore/fit"' in client.get("/chapters/meshes").text
    assert '"/explore/fit"' in client.get("/chapters/capstone").text
    assert '"/explore/fit"' in client.get("/search?q=will+my+run+fit").text


CONFIG = (
    '{"model_type": "llama", "hidden_size": 2048, "intermediate_size": 5632, "vocab_size": 32000,'
    ' "num_hidden_layers": 21, "num_attention_heads": 32, "num_key_value_heads": 4}'
)


def test_a_pasted_configuration_is_the_model_of_the_page(client: TestClient) -> None:
    few = {"gpus": "8", "tensor": "1", "pipeline": "1", "virtual": "1", "batch": "8"}
    page = shown(client, configuration=CONFIG, **few)
    assert 'value="layers=21 hidden=2048' in page
    assert "Will my run fit" in page
    addresses = re.findall(r'href="(/explore/fit[^"]*layers%3D21[^"]*)"', page)
    assert not [one for one in addresses if "configuration=" in one]
    wrong = shown(client, configuration='{"model_type": "mamba2", "num_hidden_layers": 4}', **few)
    assert "has layers without attention" in wrong


def sent(client: TestClient, text: str) -> tuple[int, dict[str, str], str]:
    """What the page of measurements answers to a run that was sent from the page of a run."""
    form = {"run": (None, "1"), "text": (None, text)}
    answer = client.post("/measured", files=form, headers={"Origin": "http://testserver"}, follow_redirects=False)
    address = urlsplit(answer.headers.get("location", ""))
    return answer.status_code, dict(parse_qsl(address.query)), unescape(answer.text)


def test_a_configuration_fills_the_page(client: TestClient) -> None:
    status, state, _ = sent(client, CONFIG)
    assert (status, state["model"][:9]) == (303, "layers=21")
    status, state, _ = sent(client, " " * 20_000 + CONFIG)
    assert (status, state["model"][:9]) == (303, "layers=21")


def test_the_doubts_of_a_configuration_stand_on_the_page_that_it_fills(client: TestClient) -> None:
    status, _, page = sent(client, '{"zero_optimization": {"stage": 2},' + " " * 5000 + '"zenflow": {"a": 2}}')
    assert (status, "The layout: not used: zenflow.a." in page) == (200, True)


def test_a_log_or_an_error_fills_the_page(client: TestClient) -> None:
    said = (
        "Building llama3 8B with x\nBuilding 1-D device mesh with ['dp_shard'], [8]\n"
        "CUDA capacity: NVIDIA H100 80GB HBM3 with 79GiB\nglobal batch size 8, sequence length 8192"
    )
    status, state, _ = sent(client, f"{said}\n{text_of('torchtitan-8b-h100')}")
    assert (status, state["model"], state["gpu"], state["gpus"]) == (303, "Llama-3-8B", "H100", "8")
    error = (
        "model=meta-llama/Llama-3.1-8B\n[rank7]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate"
        " 14.96 GiB. GPU 7 has a total capacity of 79.15 GiB of which 4.40 GiB is free. Including non-PyTorch memory,"
        " this process has 74.74 GiB memory in use."
    )
    status, state, _ = sent(client, error)
    assert (status, state["model"]) == (303, "Llama-3.1-8B")


def test_what_says_nothing_of_a_run_is_read_as_a_measurement(client: TestClient) -> None:
    status, _, page = sent(client, "a line that means nothing")
    assert status == 200
    assert "Not read" in page
    status, _, page = sent(client, '{"model_type": "mamba2", "num_hidden_layers": 4}')
    assert status == 422
    assert "has layers without attention" in page

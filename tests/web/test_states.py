"""From one state of an explorer to others: presets, neighbors, and what changed on the way."""

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

from fastapi.testclient import TestClient

FIT = "/explore/fit"
WAS = "Llama-3.1-405B~H100~16384~50 GB/s~0~8~16~8~1~1~2~1~2048~8192~selective~16-bit~15.6 trillion~2~5"


def shown(client: TestClient, **query: str) -> str:
    return unescape(client.get(FIT, params={"show": "1", **query}).text)


def links(page: str, within: str) -> dict[str, str]:
    (part,) = re.findall(rf"(?s){within}.*?</(?:nav|section)>", page)
    return {text: href for href, text in re.findall(r'<a href="([^"]+)"[^>]*>([^<]+)</a>', part)}


def test_every_preset_is_a_link_and_the_one_that_is_shown_is_marked(client: TestClient) -> None:
    page = shown(client)
    presets = links(page, '<nav class="presets"')
    assert list(presets) == ["Llama 3 405B as trained", "8B on 8 × H100", "Llama 3 405B, 128K tokens"]
    for name, href in presets.items():
        there = unescape(client.get(href).text)
        assert f'aria-current="true" rel="nofollow">{name}<' in there
        assert there.count("Yours") == 0
        assert "cannot be read" not in there
    own = shown(client, stage="1", price="3")
    assert '<span aria-current="true">Yours</span>' in own
    assert all("price=3&" in f"{href}&" for href in links(own, '<nav class="presets"').values())


def test_a_neighbor_is_a_link_that_says_what_changed_on_the_way(client: TestClient) -> None:
    neighbors = links(shown(client), '<section class="states">\n<h2>One change away')
    (nearest,) = (href for text, href in neighbors.items() if text.startswith("Context"))
    there = unescape(client.get(nearest).text)
    assert "was 6.172 s: +0.71 %" in there
    assert "was 42.5 %: −0.3 points" in there
    assert ">before</text>" in there
    assert re.search(r'name="context"[^>]* value="2"', there)
    assert len(nearest) < 600


def test_a_form_without_scripts_carries_the_state_it_leaves(client: TestClient) -> None:
    assert f'name="was" value="{WAS}"' in shown(client)
    sent = shown(client, stage="3", was=WAS)
    assert "was 6.172 s: +68 %" in sent
    assert 'name="was" value="Llama-3.1-405B~H100~16384~50 GB/s~0~8~16~8~1~1~3~' in sent
    assert "<small>was" not in shown(client, was=WAS)  # nothing changed
    assert "<small>was" not in unescape(client.get(FIT, params={"was": WAS}).text)  # asked first


def test_a_state_before_that_cannot_be_read_is_left_out_and_said(client: TestClient) -> None:
    for was in ("x", "~" * 3, WAS.replace("16384", "0"), WAS * 20, WAS + "~1", "<b>~" * 17):
        page = shown(client, stage="3", was=was)
        assert "The earlier state in the address cannot be read" in page, was
        assert "<small>was" not in page
        assert "10.35 s" in page
    assert "cannot be read" not in shown(client, was="")
    assert client.get("/explore/ring?show=1&was=x").text.count("cannot be read") == 0


def test_a_state_that_is_asked_first_shows_no_verdict_and_no_neighbors(client: TestClient) -> None:
    page = unescape(client.get(FIT).text)
    for told in ("It fits", "One change away", "74.9", "5.09", "See also"):
        assert told not in page
    href = links(page, '<nav class="presets"')["Llama 3 405B, 128K tokens"]
    assert parse_qs(urlsplit(href).query)["predict"] == ["1"]
    assert "It fits" not in client.get(href).text


def test_the_page_is_found_from_elsewhere(client: TestClient) -> None:
    assert '"/explore/fit?show=1"' in client.get("/").text
    assert '"/explore/fit"' in client.get("/chapters/meshes").text
    assert '"/explore/fit"' in client.get("/chapters/capstone").text
    assert '"/explore/fit"' in client.get("/search?q=will+my+run+fit").text


def test_a_pasted_configuration_is_the_model_of_the_page(client: TestClient) -> None:
    config = (
        '{"model_type": "llama", "hidden_size": 2048, "intermediate_size": 5632, "vocab_size": 32000,'
        ' "num_hidden_layers": 21, "num_attention_heads": 32, "num_key_value_heads": 4}'
    )
    few = {"gpus": "8", "tensor": "1", "pipeline": "1", "virtual": "1", "batch": "8"}
    page = shown(client, configuration=config, **few)
    assert 'value="layers=21 hidden=2048' in page
    assert "Your own configuration" in page
    assert "Will my run fit" in page
    addresses = re.findall(r'href="(/explore/fit[^"]*layers%3D21[^"]*)"', page)
    assert not [one for one in addresses if "configuration=" in one]
    wrong = shown(client, configuration='{"model_type": "mamba2", "num_hidden_layers": 4}', **few)
    assert "has layers without attention" in wrong
    long = shown(
        client, configuration='{"zero_optimization": {"stage": 2},' + " " * 5000 + '"zenflow": {"a": 2}}', **few
    )
    assert "The layout: not used: zenflow.a." in long

"""How far to trust this: every published row, and an error that can be recomputed from the page."""

import csv
import io
import re

import pytest
from fastapi.testclient import TestClient

from app.core.published import Outcome, StepPrediction, published_run, published_runs, sources
from app.site.web.reference.trust_view import error_text, predicted_text


def rows(client: TestClient, address: str = "/trust/0.csv") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(client.get(address).text)))


def seconds(text: str) -> float:
    number, unit = text.split()
    return float(number.replace(",", "")) * {"s": 1, "ms": 1e-3, "min": 60}[unit]


def test_every_row_is_on_the_page_and_every_prediction_in_the_figure(client: TestClient) -> None:
    text = client.get("/trust").text
    body = text[text.index('id="runs"') : text.index('id="coefficients"')]
    assert body.count("<tr>") == len(published_runs()) + len(sources())
    assert body.count("not predicted: ") == 8
    drawn = len(published_runs()) - 8
    assert len(rows(client)) == drawn
    wide = re.search(r'<svg class="figure plot wide".*?</svg>', text, re.DOTALL)
    assert wide
    # A mark per prediction, and one per source in the legend.
    assert wide[0].count('class="spot ') == drawn + len(sources())


def test_the_error_on_the_page_is_that_of_the_values_in_the_figure(client: TestClient) -> None:
    text, found = client.get("/trust").text, rows(client)
    for source in sources():
        off = [
            seconds(row["predicted"]) / seconds(row["measured"]) - 1
            for row in found
            if row["Group"] == source.title and row["predicted, low"] == row["predicted, high"]
        ]
        cells = re.search(rf'source={source.id}">[^<]*</a></th>(.*?)</tr>', text, re.DOTALL)
        assert cells
        _, error, _ = re.findall(r'<td class="right">(.*?)</td>', cells[1])[:3]
        if not off:
            assert error == "–"
            continue
        naive = 100 * sum(map(abs, off)) / len(off)
        assert float(error.removesuffix(" %")) == pytest.approx(naive, rel=0.01, abs=0.02)


def test_the_page_can_be_narrowed_to_a_source(client: TestClient) -> None:
    text = client.get("/trust?source=megatron-2022").text
    assert text.count('<details class="source" open>') == 1
    assert "8 runs of Megatron-LM, 2022" in text
    assert "DeepSeek-V3 on 2,048" not in text
    assert len(rows(client, "/trust/0.csv?source=megatron-2022")) == 8
    assert client.get("/trust/0.svg?source=megatron-2022").text.startswith("<svg")


def test_a_source_that_is_not_there_is_said_with_the_nearest(client: TestClient) -> None:
    for address in ("/trust?source=torchtitans", "/trust/0.csv?source=torchtitans"):
        answer = client.get(address)
        assert answer.status_code == 404
        assert "did you mean" in answer.text
        assert "torchtitan" in answer.text
    assert client.get("/trust/7.svg").status_code == 404


def test_an_interval_says_both_ends_and_whether_it_holds() -> None:
    run = published_run("megatron-2022 table row 2 present")  # 13.75 s
    held = Outcome(run, StepPrediction(11.0, 16.5, 0.0))
    assert (predicted_text(held), error_text(held)) == ("11 s to 16.5 s", "held")
    late = Outcome(run, StepPrediction(20.0, 32.0, 0.0))
    assert (predicted_text(late), error_text(late)) == ("20 s to 32 s", "+84 %")


def test_explorers_and_the_search_lead_to_it(client: TestClient) -> None:
    for address in ("/explore/fit", "/search?q=trust", "/reference"):
        assert 'href="/trust"' in client.get(address).text, address

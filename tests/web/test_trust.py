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


def table(text: str, name: str) -> list[list[str]]:
    """The cells of the rows of the table called *name*."""
    body = text[text.index(f'id="{name}"') :].partition("<tbody>")[2].partition("</tbody>")[0]
    return [re.findall(r"<t[hd][^>]*>(?:<a[^>]*>)?([^<]*)", row) for row in body.split("</tr>")[:-1]]


def test_every_stack_and_source_is_on_the_page_and_every_prediction_in_the_figure(client: TestClient) -> None:
    text = client.get("/trust").text
    stacks = [row[0] for row in table(text, "stacks")]
    assert stacks[-1] == "All"
    assert {"FSDP2, eager, 16 bits", "Megatron, 8 and 4 bits", "DeepSpeed, eager, 16 bits"} < set(stacks)
    assert {row[0] for row in table(text, "runs")} == {source.title for source in sources()}
    drawn = len(published_runs()) - 8
    assert len(rows(client)) == drawn
    wide = re.search(r'<svg class="figure plot wide".*?</svg>', text, re.DOTALL)
    assert wide
    # A mark per prediction, and one per source in the legend.
    assert wide[0].count('class="spot ') == drawn + len(sources())


def test_the_error_on_the_page_is_that_of_the_values_in_the_figure(client: TestClient) -> None:
    cells, found = table(client.get("/trust").text, "runs"), rows(client)
    for name, _, error, _, held, _ in cells:
        mine = [row for row in found if row["Group"] == name]
        off = [seconds(row["predicted"]) / seconds(row["measured"]) - 1 for row in mine]
        naive = 100 * sum(map(abs, off)) / len(off)
        assert float(error.removesuffix(" %")) == pytest.approx(naive, rel=0.02, abs=0.05)
        assert held.startswith(f"{sum(_is_inside(row) for row in mine)} of {len(mine)}")


def _is_inside(row: dict[str, str]) -> bool:
    return seconds(row["predicted, low"]) <= seconds(row["measured"]) <= seconds(row["predicted, high"])


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


def test_a_prediction_says_both_ends_of_its_range_and_how_far_it_is_off() -> None:
    run = published_run("megatron-2022 table row 2 present")  # 13.75 s
    late = Outcome(run, StepPrediction(25.3, 20.0, 32.0, 0.0))
    assert (predicted_text(late), error_text(late)) == ("25.3 s, 20 s to 32 s", "+84 %")
    assert (predicted_text(Outcome(run, None)), error_text(Outcome(run, None))) == ("–", "–")


def test_explorers_and_the_search_lead_to_it(client: TestClient) -> None:
    for address in ("/explore/fit", "/search?q=trust", "/reference"):
        assert 'href="/trust"' in client.get(address).text, address

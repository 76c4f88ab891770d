"""Traces: the tolls on the page are those of the report, and nothing sent is trusted."""

import gzip
import re

import pytest
from fastapi.testclient import TestClient

from app.core.formulas.layout import StepTime, step_time
from app.core.formulas.presets import Cluster, Layout, ModelShape
from app.core.measurements.published import SAMPLES
from app.core.measurements.trace.reader import read_trace
from app.core.units import SECOND, show
from app.site.web.measured.trace_view import predicted_tolls, tolls_of_step, tolls_per_step, trace_view
from tests.measurements.trace.made import collective, flat, report_of_events, step, trace, work

SAMPLE = SAMPLES[1]
ADDRESS = f"/measured/traces/{SAMPLE.name}"
GIVEN = {"model": "Llama-3.1-8B", "cluster": "64 H100", "layout": "tensor=8 data=8"}


def cells(text: str, label: str) -> list[list[str]]:
    """The rows of the table with that label."""
    found = re.search(rf'aria-label="{label}">(.*?)</table>', text, re.DOTALL)
    assert found
    rows = re.findall(r"<tr>(.*?)(?:</tr>|(?=<tr>)|$)", found[1], re.DOTALL)
    return [[re.sub(r"<[^>]*>", "", one).strip() for one in re.split(r"<t[dh][^>]*>", row)[1:]] for row in rows]


def test_a_published_trace_shows_its_tolls_and_its_source(client: TestClient) -> None:
    text = client.get(ADDRESS).text
    (report,) = read_trace([SAMPLE.path])
    rows = cells(text, "Where a step's time goes, as a table".replace("'", "&#39;"))
    assert {row[0]: row[1] for row in rows[1:-1]} == {
        toll: show(time, SECOND, 3) for toll, time in tolls_per_step(report).items()
    }
    assert SAMPLE.address in text


def test_the_tolls_stand_beside_those_of_the_layout(client: TestClient) -> None:
    text = client.get(ADDRESS, params=GIVEN).text
    rows = cells(text, "Where a step&#39;s time goes, as a table")
    assert rows[0] == ["Toll", "Measured", "Share", "Predicted"]
    total = step_time(
        ModelShape.read(GIVEN["model"]), Cluster.read(GIVEN["cluster"]), Layout.read(GIVEN["layout"])
    ).total
    assert rows[-1][-1] == show(total, SECOND, 3)
    found = predicted_tolls(GIVEN)
    assert found
    assert sum(found.tolls.values()) == pytest.approx(total)


def test_every_part_of_a_predicted_step_belongs_to_one_toll() -> None:
    step = StepTime(*range(1, 15))
    assert dict(tolls_of_step(step)) == {
        "compute": 1 + 2 + 3 + 4 + 5 + 13,
        "exposed communication": 7 + 8 + 9 + 10 + 12,
        "exposed copies": 0,
        "bubble and skew": 11 + 14,
        "host stalls": 6,
    }
    assert StepTime._fields.index("launches") == 5


def test_a_layout_that_cannot_be_read_says_why(client: TestClient) -> None:
    text = client.get(ADDRESS, params=GIVEN | {"model": "<b>Llama"}).text
    assert "No prediction" in text
    assert "<b>Llama" not in text


def test_an_unknown_trace_offers_the_nearest(client: TestClient) -> None:
    answer = client.get("/measured/traces/mi300x-8-resnet")
    assert answer.status_code == 404
    assert "mi300x-8-resnet-rccl" in answer.text


def test_ranks_that_are_sent_are_read_together_and_shown(client: TestClient) -> None:
    name = '<script>alert("x")</script>'
    files = []
    for rank, begin in enumerate((50, 110)):
        steps = [step(1, 0, 200), step(2, 200, 400)]
        events = flat([*steps, work(0, begin, name, launched=-5), collective(begin, 150)])
        file = gzip.compress(trace(events, rank=rank, world_size=4))
        files.append(("file", (f"../{name}{rank}.json.gz", file, "application/gzip")))
    files.append(("file", ("other.txt", b"hello", "text/plain")))
    answer = client.post("/measured", files=files, data=GIVEN)
    assert answer.status_code == 200
    assert name not in answer.text
    assert answer.text.count("Rank 1 most often arrives last.") == 2  # what to try first, and why
    assert "rank 1, 100 % of the time" in answer.text
    assert "Not read" in answer.text
    assert "Predicted" in answer.text


@pytest.mark.parametrize("content", [b"", b"hello", b'{"traceEvents": [' + b"[" * 50_000])
def test_what_is_not_a_trace_gets_one_sentence(content: bytes, client: TestClient) -> None:
    for address in ("/measured", "/measured/traces"):  # where traces were sent before
        answer = client.post(address, files={"file": ("trace.json", content)})
        assert answer.text.count("Not read") == 1


def test_a_trace_that_takes_no_time_is_shown() -> None:
    report = report_of_events(work(5, 5, launched=1), collective(5, 5))
    view = trace_view(report, "nothing", None)
    assert view.levers == ()
    assert [row[2] for row in view.kernels] == ["1", "1"]


def test_a_trace_from_another_site_is_refused(client: TestClient) -> None:
    headers = {"sec-fetch-site": "cross-site"}
    answer = client.post("/measured/traces", files={"file": ("a", b"hello")}, headers=headers)
    assert answer.status_code == 403


def test_collectives_of_a_trace_are_beside_the_wire_and_the_first_lever_is_on_top(client: TestClient) -> None:
    page = client.get("/measured/traces/a100-2-ddp-with-bytes").text
    assert "% of NVLink of a GPU" in page
    assert "Try first: Launch earlier or less" in page
    assert "It saves at most 166 ms (76.3 %) of a step." in page

"""/measured: what is sent is read, compared and not kept; published runs have pages of their own."""

import gzip
import html
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.core.formulas.layout import step_time
from app.core.formulas.presets import Cluster, Layout, ModelShape
from app.core.measurements.published import published_logs, published_tests, text_of
from app.core.measurements.reports import TrainingLog
from app.site.web.measured.views import predict_log


def send(client: TestClient, text: str, *files: bytes, **fields: str) -> Any:
    sent = [("file", (f"<b>{n}</b>.txt", content)) for n, content in enumerate(files)]
    empty = [("file", ("", b""))]
    return client.post("/measured", data={"text": text, **fields}, files=sent or empty)


def test_a_paste_and_a_packed_file_are_compared_and_nothing_is_kept(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    packed = gzip.compress(text_of("torchtitan-8b-h100").encode())
    layout = {"model": "Llama-3.1-8B", "cluster": "DGX-H100 gpus=8", "layout": "data=8 zero_stage=3"}
    page = send(client, text_of("gb200-128-two-racks"), packed, **layout)
    assert page.status_code == 200
    assert "All-reduce on 128 ranks" in page.text
    assert "Said to be 144 ranks, but the bandwidths say 128." in page.text
    assert "Training log of torchtitan" in page.text
    assert "34.3 %" in page.text
    assert "Measured: 1.397 s" in page.text
    assert "products reach" in page.text
    assert page.text.count("<svg") > 3
    assert not list(tmp_path.iterdir())


def test_names_in_what_is_sent_are_text(client: TestClient) -> None:
    evil = text_of("h100-8-p5").replace("AWS p5.48xlarge", "<script>alert(1)</script>")
    page = send(client, "", evil.encode(), b"nonsense", cluster="DGX-H100 gpus=8")
    assert page.status_code == 200
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert(1)" in page.text
    assert "b1b.txt has no table of nccl-tests" in page.text
    assert 'value="DGX-H100 gpus=8"' in page.text


PROBLEMS: Mapping[str, tuple[dict[str, str], str]] = {
    "nothing": ({}, "Paste the output of a test or a log, or choose a file."),
    "a cluster that is not there": ({"text": "x", "cluster": "DGX-H1000"}, "DGX-H100"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_is_said_on_the_page(client: TestClient, name: str) -> None:
    fields, says = PROBLEMS[name]
    page = client.post("/measured", data=fields)
    assert page.status_code == 422
    assert says in page.text
    assert "Not compared" in page.text


def test_a_form_of_another_site_is_refused(client: TestClient) -> None:
    foreign = {"origin": "https://example.com"}
    assert client.post("/measured", data={"text": "x"}, headers=foreign).status_code == 403


def test_every_published_measurement_has_a_page_and_figures(client: TestClient) -> None:
    listed = client.get("/measured").text
    for name, one in {**published_tests(), **published_logs()}.items():
        assert f'href="/measured/{name}"' in listed
        page = client.get(f"/measured/{name}")
        assert page.status_code == 200
        assert one.address in page.text
    drawn = client.get("/measured/h100-16-p5/1.svg")
    assert drawn.headers["content-type"] == "image/svg+xml"
    values = client.get("/measured/h100-16-p5/0.csv").text.splitlines()
    assert values[0].startswith("size,this run")
    assert values[-1].startswith("16 GiB,487.1 GB/s")
    assert client.get("/measured/h100-16-p5/7.svg").status_code == 404
    missing = client.get("/measured/h100-16-p6")
    assert missing.status_code == 404
    assert "h100-16-p5" in missing.text


def test_a_low_bandwidth_is_no_success(client: TestClient) -> None:
    page = client.get("/measured/gh200-8-sockets").text
    assert "Others reached 123 GB/s on as many ranks of the same GPU: gh200-8-slingshot." in page
    assert 'class="feedback success"' not in page
    assert 'class="feedback success"' in client.get("/measured/h100-16-p5").text
    too_much = client.get("/measured/b200-16-rdma-alltoall").text
    assert "no algorithm of this collective sends less than the wire carries" in too_much


def test_published_tests_are_listed_by_collective_and_each_row_leads_to_its_source(client: TestClient) -> None:
    page = client.get("/measured").text
    rows = re.findall(r'<th scope="row"><a href="(/measured/[^"]+)"', page)
    assert len(rows) == 29
    for row in rows[:3]:
        assert 'href="https://github.com/' in client.get(row).text
    assert "All-reduce: the fastest on each GPU" in page
    assert client.get("/measured?hardware=GB200").text.count('<th scope="row"><a href="/measured/') == 29


def test_a_log_that_describes_its_run_is_predicted_and_opens_in_the_explorer(client: TestClient) -> None:
    said = (
        "Building llama3 8B with x\nBuilding 1-D device mesh with ['dp_shard'], [8]\n"
        "CUDA capacity: NVIDIA H100 80GB HBM3 with 79GiB\nglobal batch size 8, sequence length 8192"
    )
    page = send(client, f"{said}\n{text_of('torchtitan-8b-h100')}").text
    assert "For Llama-3-8B, DGX-H100 gpus=8, data=8 zero_stage=3 sequence=8192." in page
    assert 'value="DGX-H100 gpus=8"' in page
    assert "1.397 s a step, 34.3 % of the dense peak." in page
    assert "Try first: profile a step and read its trace here, since 39 % of it is not" in page
    (state,) = re.findall(r'href="(/explore/fit\?[^"]*)"', page)
    shown = client.get(html.unescape(state))
    assert shown.status_code == 200
    assert "853.2 ms" in shown.text
    bare = send(client, text_of("megatron-mixtral-16-h100")).text
    assert "Name the model, the cluster and the layout under" in bare
    (onward,) = re.findall(r'<a class="button" href="(/explore/fit[^"]*)">What it should be</a>', bare)
    assert client.get(html.unescape(onward)).status_code == 200


def test_an_empty_file_is_said_to_be_empty(client: TestClient) -> None:
    assert "b0b.txt is empty" in send(client, "", b"").text


def test_gpus_that_are_faster_than_pcie_are_not_said_to_be_on_it(client: TestClient) -> None:
    page = client.get("/measured/b200-2-nvlink-alltoall").text
    assert "NVLink is in use, since PCIe carries 64 GB/s at most" in page
    assert "over PCIe instead" not in page


def test_a_step_that_the_formulas_explain_says_which_part_to_make_smaller() -> None:
    given = {"model": "Llama-3-70B", "cluster": "64 H100", "layout": "tensor=8 pipeline=8 microbatches=8"}
    layout = Layout.read(given["layout"])
    step = step_time(ModelShape.read(given["model"]), Cluster.read(given["cluster"]), layout)
    found = predict_log(TrainingLog(family="megatron", steps=9, step_time=1.01 * step.total), given)
    assert found is not None
    assert "Try first, against bubble" in found.says
    assert step.bubble == max(step.bubble, step.tensor, step.data, step.messages, step.recompute)


def test_a_share_of_the_wire_above_all_of_it_says_why_in_the_column(client: TestClient) -> None:
    page = client.get("/measured").text
    shares = re.findall(r"<td>(\d+) %(: [a-z][^<]*)?</td>", page)
    above = [(int(share), why) for share, why in shares if int(share) > 100]
    assert len(shares) > 20
    assert len(above) >= 5
    assert all(why for _, why in above), above


def test_an_out_of_memory_error_has_its_arithmetic_and_a_way_into_fit(client: TestClient) -> None:
    error = (
        "[rank7]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 14.96 GiB. GPU 7 has a total capacity of"
        " 79.15 GiB of which 4.40 GiB is free. Including non-PyTorch memory, this process has 74.74 GiB memory in use. Of"
        " the allocated memory 68.21 GiB is allocated by PyTorch, and 5.12 GiB is reserved by PyTorch but unallocated."
    )
    page = html.unescape(send(client, error, model="Llama-3-8B", layout="data=8 zero_stage=2 sequence=4096").text)
    assert "PyTorch asked for 14.96 GiB, and 4.4 GiB was free: 10.56 GiB too little." in page
    assert "8,030,261,248 parameters × 2 bytes = 14.96 GiB" in page
    assert "with what is free, not enough" in page
    (address,) = re.findall(r'class="button" href="(/explore/fit\?[^"]*)"', page)
    for part in ("model=Llama-3-8B", "gpus=8", "stage=2", "sequence=4096", "gpu=A100"):
        assert part in address
    assert client.get(address).status_code == 200
    unnamed = html.unescape(send(client, error).text)
    assert "The model is not named" in unnamed
    assert "Name the model under “What it ran on”" in unnamed
    assert "No model shape is called 'Llama-9'" in html.unescape(send(client, error, model="Llama-9").text)

import csv
import io
import itertools
import math
import struct
import xml.etree.ElementTree as ET
from typing import Literal

import pytest
from fastapi.testclient import TestClient
from hypothesis import assume, given
from hypothesis import strategies as st

from app.core.charts.plot import Plot
from app.core.charts.timeline import Timeline
from app.core.formulas import FORMULAS
from app.core.formulas.overlap import exposed_communication_time
from app.core.formulas.precision.formats import NumberFormat
from app.core.simulators.links import buckets, gathers
from app.core.simulators.pipeline import SCHEDULES, Times, build, kept_over_time, simulate_schedule
from app.course.content.catalog import Catalog
from app.course.explorers import EXPLORERS, explorer_pages
from app.course.explorers.base import ExplorerOutput, Values, open_explorer, predicted_figure
from app.course.explorers.controls import Select, Slider, address_text, read_controls
from app.course.explorers.published_runs import LLAMA
from tests.each import each
from tests.oracles.overlap import backward_pass, sharded_forward
from tests.oracles.sharding import parallel_mlp

GARBAGE = ("", "0", "-1", "1e999", "nan", "1e9", "0x10", "<b>", "9" * 500, "1 parsec", "foo", "None", "½")


def explored(name: str, **given: str) -> ExplorerOutput:
    explorer = EXPLORERS[name]
    values, corrections = read_controls(explorer.controls, given)
    assert corrections == ()
    return explorer.explore(Values(values))


def facts(name: str, **given: str) -> dict[str, str]:
    return {fact.label: fact.value for fact in explored(name, **given).facts}


# Three layers of 10 ms; a message takes 1 ms, and 6 ms for each layer in it.
THREE = {"layers": "3", "compute": "10", "reduce": "6", "latency": "1 ms"}


# The numbers that the course says each must show, and some that a pencil says.
@each(
    ("name", "given", "label", "value"),
    [
        ("all-reduce", {"ranks": "8"}, "crossover", "8 MB"),
        ("all-reduce", {"ranks": "1024"}, "crossover", "259.3 GB"),
        ("all-reduce", {"ranks": "8", "size": "2 GB", "latency": "0.1 us"}, "ring", "70 ms"),
        ("ring", {}, "total steps", "14"),
        ("ring", {}, "sent in total", "1.75 GB"),
        ("ring", {"ranks": "8", "size": "2 GB", "latency": "0.1 us"}, "total time", "70 ms"),
        ("split", {"wide": "8192"}, "first shard", "[8192, 1024]"),
        ("split", {"wide": "8192"}, "second shard", "[1024, 8192]"),
        ("split", {}, "first shard", "[8192, 4096]"),
        ("split", {}, "collectives, forward", "1"),
        ("split", {"order": "row-column"}, "collectives, forward", "2"),
        ("split", {"order": "row-column", "wide": "8192"}, "first shard", "[1024, 8192]"),
        ("split", {"ranks": "1"}, "sent, forward", "0 B"),
        ("routing", {"skew": "0", "tokens": "4096", "experts": "2", "active": "2", "ranks": "2"}, "imbalance", "1"),
        ("routing", {"factor": "4"}, "dropped", "0 %"),
        ("routing", {}, "capacity of an expert", "640"),
        ("memory", {}, "data parallel", "1.12 TB"),
        ("memory", {}, "ZeRO stage 3", "17.5 GB"),
        ("memory", {"parameters": "405"}, "data parallel", "6.48 TB"),
        ("memory", {"parameters": "7", "ranks": "8"}, "data parallel", "112 GB"),
        ("memory", {"parameters": "7", "ranks": "8"}, "ZeRO stage 3", "14 GB"),
        ("memory", {"parameters": "405", "ranks": "128"}, "ZeRO stage 3", "50.62 GB"),
        ("memory", {"parameters": "405", "ranks": "8"}, "ZeRO stage 3", "810 GB"),
        ("memory", {"parameters": "405", "ranks": "1024"}, "ZeRO stage 3", "6.328 GB"),
        ("memory", {"parameters": "7", "recipe": "12"}, "data parallel", "84 GB"),
        ("memory", {"parameters": "7"}, "ZeRO stage 2", "15.53 GB"),
        ("hybrid-sharding", {}, "inside", "36.75 GB"),
        ("hybrid-sharding", {}, "across", "3.062 GB"),
        ("hybrid-sharding", {}, "time inside", "81.67 ms"),
        ("checkpoints", {}, "Young's interval", "68.59 min"),
        ("checkpoints", {}, "waste at Young's interval", "4.76 %"),
        ("roofline", {}, "ReLU", "0.25 FLOP/B, 838 GFLOP/s"),
        ("roofline", {}, "4,096³ product", "1,365 FLOP/B, 989 TFLOP/s"),
        ("bandwidth", {}, "NVLink", "450 GB/s"),
        ("bandwidth", {"direction": "both"}, "NVLink", "900 GB/s"),
        ("bandwidth", {}, "HBM", "3.352 TB/s"),
        ("bandwidth", {}, "NVLink, of HBM", "13.4 %"),
        ("bandwidth", {"direction": "both"}, "NVLink, of HBM", "26.8 %"),
        ("bandwidth", {}, "network, of HBM", "1.49 %"),
        ("bandwidth", {}, "across pods", "7.143 GB/s"),
        ("overlap", {}, "hidden", "78.1 %"),
        ("overlap", {"layers": "40", "reduce": "1.5"}, "hidden", "97.5 %"),
        ("overlap", {"layers": "40", "reduce": "1.5"}, "exposed", "1.5 ms"),
        ("formats", {}, "spacing", "1.2207e-4"),
        ("formats", {}, "after the update", "0.0200195"),
        ("formats", {"weight": "0.0002"}, "after the update", "2.01225e-4"),
        ("run", {}, "time", "67.7 days"),
        ("run", {"mfu": "35"}, "time", "77.4 days"),
        ("run", {"days": "78.4"}, "utilization", "34.5 %"),
        ("run", {"days": "78.43"}, "GPU-hours", "30,839,931"),
        ("run", {"days": "77"}, "rent", "$60.6 million"),
        ("run", {"days": "77"}, "energy", "21.2 GWh"),
        ("overlap", {"what": "weights", "ahead": "0"}, "hidden", "0 %"),
        ("overlap", {"what": "weights", "layers": "40", "reduce": "1.5"}, "exposed", "1.5 ms"),
        ("overlap", {"bucket": "40", "layers": "40", "reduce": "1.5"}, "exposed", "60 ms"),
        ("roofline", {}, "ridge", "295 FLOP/B"),
        ("run", {}, "rent", "$53.2 million"),
        ("run", {"gpus": "8", "mfu": "40"}, "time", "139,000 days"),
        ("learning-rate", {}, "linear", "0.0024"),
        ("learning-rate", {}, "steps, relative to the minimum", "1.5"),
        ("learning-rate", {}, "examples, relative to the minimum", "3"),
        ("learning-rate", {"critical": "2048"}, "steps, relative to the minimum", "2"),
        ("learning-rate", {"critical": "20480"}, "steps, relative to the minimum", "11"),
        ("learning-rate", {}, "square root", "8.485e-4"),
        ("learning-rate", {}, "warm-up", "8 %"),
        ("pipeline", {"microbatches": "12"}, "bubble over the step", "20 %"),
        ("pipeline", {"microbatches": "12"}, "bubble over the ideal", "25 %"),
        ("pipeline", {"microbatches": "12"}, "held at most", "4"),
        ("pipeline", {"schedule": "gpipe", "microbatches": "12"}, "held at most", "12"),
        ("pipeline", {"schedule": "naive", "microbatches": "12"}, "bubble over the step", "75 %"),
        (
            "pipeline",
            {"schedule": "interleaved", "virtual": "4", "microbatches": "12"},
            "bubble over the step",
            "5.88 %",
        ),
        ("pipeline", {"stages": "16", "microbatches": "64"}, "bubble over the step", "19 %"),
        # 64 ranks, 100 MB, 5 us a step, 50 GB/s: 126 whole arrays; 126 parts; 12 whole ones; 12 latencies; 14 and 14.
        ("all-reduce", {}, "naive", "252.6 ms"),
        ("all-reduce", {}, "ring", "4.567 ms"),
        ("all-reduce", {}, "tree", "24.06 ms"),
        ("all-reduce", {}, "double tree", "4.06 ms"),
        ("all-reduce", {}, "hierarchical", "966.4 µs"),
        ("overlap", {**THREE, "bucket": "2"}, "exposed", "10 ms"),
        ("overlap", {**THREE, "bucket": "2"}, "hidden", "50 %"),
        ("overlap", {**THREE, "bucket": "2"}, "added to the pass", "33.3 %"),
        ("overlap", {**THREE, "bucket": "5"}, "without overlap", "19 ms"),
        ("overlap", {**THREE, "bucket": "5"}, "hidden", "0 %"),
        ("overlap", {**THREE, "what": "weights", "ahead": "0"}, "exposed", "21 ms"),
        ("overlap", {**THREE, "what": "weights", "ahead": "1"}, "exposed", "7 ms"),
        ("overlap", {**THREE, "what": "weights", "ahead": "1"}, "hidden", "66.7 %"),
        ("hybrid-sharding", {"group": "16"}, "inside", "39.38 GB"),
        ("hybrid-sharding", {"group": "16"}, "time inside", "787.5 ms"),
        ("hybrid-sharding", {"group": "128"}, "inside", "41.34 GB"),
        ("hybrid-sharding", {"group": "128"}, "time inside", "826.9 ms"),
        ("hybrid-sharding", {"group": "128"}, "across", "0 B"),
        ("hybrid-sharding", {"group": "128"}, "state on each GPU", "1.75 GB"),
        ("checkpoints", {}, "waste at your interval", "4.81 %"),
        ("checkpoints", {"restart": "864"}, "waste at your interval", "5.81 %"),
        ("checkpoints", {"checkpoint": "3600", "interval": "30"}, "waste at your interval", "more than all"),
        ("run", {}, "electricity", "$932,000"),
        ("run", {"watts": "350"}, "energy", "9.32 GWh"),
        ("run", {"price": "3"}, "rent", "$79.9 million"),
        ("run", {"days": "10"}, "utilization", "100 %"),
        ("run", {"days": "10"}, "time", "27.1 days"),
        ("learning-rate", {"steps": "100"}, "warm-up", "99 %"),
        ("routing", {}, "sent with even routing", "3.67 MB"),
        ("routing", {"factor": "1"}, "capacity of an expert", "512"),
        ("routing", {"ranks": "1"}, "sent by the busiest GPU", "0 B"),
        ("pipeline", {}, "1F1B, step", "330 ms"),
        ("pipeline", {"against": "gpipe"}, "GPipe, held at most", "8"),
        ("pipeline", {"schedule": "zb_h1", "stages": "7", "microbatches": "13"}, "ZB-H1, step", "450 ms"),
        ("gpus", {}, "memory", "24"),
        ("gpus", {}, "memory bandwidth", "27.8"),
        ("formats", {"weight": "0.9"}, "spacing", "0.00390625"),
        ("formats", {"weight": "1"}, "spacing", "0.0078125"),
        ("formats", {"weight": "1", "update": "0.005"}, "after the update", "1.00781"),
        ("split", {}, "weights per GPU", "67,108,864"),
        ("split", {}, "sent, forward", "234.9 MB"),
        ("fit", {}, "length of the run", "66.4 days"),
        ("fit", {}, "GPU-hours", "26,120,000"),
        ("fit", {}, "rent", "$52.2 million"),
        ("fit", {}, "energy of the GPUs", "18.3 GWh"),
        ("fit", {"price": "3"}, "rent", "$78.4 million"),
    ],
)
def test_the_numbers_of_the_course_are_shown(name: str, given: dict[str, str], label: str, value: str) -> None:
    assert facts(name, **given)[label] == value


def test_sentences_keep_the_conventions_apart() -> None:
    said = explored("bandwidth").says
    assert "**9 times**" in said
    assert "18 times" in said
    assert "1.12 times" in said
    assert "450 times" in explored("gpus").says
    assert "FP32, the others' in 16 bits" in explored("gpus").says
    assert "FP32" not in explored("gpus", since="V100 SXM2").says
    assert "**295 FLOP/B**" in explored("roofline").says


@each("name", EXPLORERS)
def test_an_explorer_leads_somewhere(catalog: Catalog, name: str) -> None:
    explorer = EXPLORERS[name]
    assert explorer.chapter in {topic.id for topic in catalog.topics}
    assert set(explorer.formulas) <= set(FORMULAS)


@pytest.mark.parametrize("name", [one.name for one in explorer_pages()])
def test_every_corner_is_drawn_or_says_why_not(client: TestClient, name: str) -> None:
    ends = []
    for control in EXPLORERS[name].controls:
        if isinstance(control, Slider):
            ends.append([(control.name, f"{end:g}") for end in (control.low, control.high)])
        else:
            ends.append([(control.name, option) for option in control.options])
    every = max(1, math.prod(map(len, ends)) // 24)
    for corner in itertools.islice(itertools.product(*ends), 0, None, every):
        answer = client.get(f"/explore/{name}", params=dict(corner), headers={"X-Fragment": "1"})
        assert answer.status_code == 200, corner
        assert "nan" not in answer.text.lower().replace("dominan", ""), corner
        assert "<svg" in answer.text, corner
        assert "Nothing to draw" not in answer.text, corner


@pytest.mark.slow(20)
@pytest.mark.parametrize("name", EXPLORERS)
@given(data=st.data())
def test_every_state_is_drawn_or_the_nearest_one_that_exists(name: str, data: st.DataObject) -> None:
    explorer, given = EXPLORERS[name], {}
    for control in explorer.controls:
        if isinstance(control, Select):
            given[control.name] = data.draw(st.sampled_from(sorted(control.options)))
        elif data.draw(st.booleans()):
            number = data.draw(st.floats(control.low, control.high))
            given[control.name] = f"{round(number) if control.whole else number:.6g}"
    values = Values(read_controls(explorer.controls, given)[0])
    shown = explorer.explore(values)
    assert shown.figures
    assert all(figure.table for figure in shown.figures)
    fact = predicted_figure(explorer, shown)
    assert fact is None or fact.exact is not None
    for wrong, says in explorer.foreseen.others(values):
        assert math.isfinite(wrong)
        assert says.endswith(".")


@pytest.mark.sweep
@pytest.mark.slow(20)
@pytest.mark.parametrize("name", [one.name for one in explorer_pages()])
def test_whatever_an_address_says_a_page_comes(client: TestClient, name: str) -> None:
    for control, text in itertools.product(EXPLORERS[name].controls, GARBAGE):
        answer = client.get(f"/explore/{name}", params={control.name: text})
        assert answer.status_code == 200
        known = ("0", "-1", "1e9") if isinstance(control, Slider) else tuple(control.options)
        if text and text not in known:
            assert "; using" in answer.text, (control.name, text)
    assert client.get(f"/explore/{name}?unknown=1").status_code == 200


def test_a_corrected_value_is_said(client: TestClient) -> None:
    page = client.get("/explore/pipeline?schedule=foo&stages=0&microbatches=1e9").text
    assert "using 1f1b" in page
    assert "Stages: 2 is the smallest value; using that." in page
    assert "Micro-batches: 64 is the largest value; using that." in page
    assert "did you mean &#39;gpipe&#39;" in client.get("/explore/pipeline?schedule=gpip").text
    assert "did you mean" in client.get("/explore/pipelines").text
    assert client.get("/explore/pipelines").status_code == 404


@pytest.mark.parametrize("name", EXPLORERS)
def test_every_figure_is_a_file_and_a_table_too(client: TestClient, name: str) -> None:
    for number in range(len(explored(name).figures)):
        picture = client.get(f"/explore/{name}/{number}.svg")
        assert picture.headers["content-type"] == "image/svg+xml"
        root = ET.fromstring(picture.text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        rows = list(csv.reader(io.StringIO(client.get(f"/explore/{name}/{number}.csv").text)))
        assert len(rows) > 1
        assert len({len(row) for row in rows}) == 1
    assert client.get(f"/explore/{name}/9.svg").status_code == 404
    assert client.get(f"/explore/{name}/0.png").status_code == 404


def test_two_schedules_share_one_axis() -> None:
    first, second, *_ = explored("pipeline", against="zb_h1").figures
    assert isinstance(first, Timeline)
    assert isinstance(second, Timeline)
    assert first.end == second.end


def test_a_select_reads_its_own_options() -> None:
    select = Select("x", "X", {"a": "A", "b": "B"})
    assert select.read("b") == ("b", "")
    assert select.read("c")[0] == "a"


@each("name", EXPLORERS)
def test_a_value_survives_the_address(name: str) -> None:
    for control in EXPLORERS[name].controls:
        if isinstance(control, Slider):
            value, _ = control.read(f"{control.default:g}")
            again, says = control.read(address_text(control, value))
            assert says == ""
            assert again == pytest.approx(value, rel=1e-3)


def test_a_layout_says_what_does_not_fit_and_what_is_better() -> None:
    plain = {"stage": "1", "virtual": "1"}
    small = explored("layout", model="Llama-3-8B", gpus="8", tensor="1", pipeline="1", batch="64", **plain)
    assert "**not fit**: 100.6 GB on a card of 80 GB, most of it activations" in small.says
    large = explored("layout", virtual="1")
    assert "128 data-parallel ranks, 16 micro-batches each" in large.says
    assert "It **fits**" in large.says
    assert "Faster neighbors: context 2" in large.says
    alone = explored("layout", model="Llama-3-8B", gpus="1", batch="1")
    assert alone.says.startswith("1 data-parallel rank, 1 micro-batch each.")


def test_a_layout_that_was_measured_says_so() -> None:
    measured = "measured, Llama 3 paper"
    assert facts("layout")[measured] == "41 %"
    assert facts("layout", gpus="8192")[measured] == "43 %"
    long = facts("layout", sequence="131072", context="16", batch="128")
    assert long[measured] == "38 %"
    assert measured not in facts("layout", virtual="4")
    assert measured not in facts("layout", gpu="A100")
    for state in ({}, {"gpus": "8192"}):  # a projection is not a measurement, but not far from it
        told = explored("layout", **state).facts
        used = {fact.label: fact.exact for fact in told}
        assert used["projected MFU"] == pytest.approx(used[measured], rel=0.15)


def test_degrees_that_do_not_divide_are_told_and_the_nearest_that_do_are_shown(client: TestClient) -> None:
    page = client.get("/explore/fit", params={**LLAMA.state, "tensor": "3"}).text
    assert "Nothing to draw" not in page
    assert "3 · 16 · 1 = 48 GPUs, which do not divide 16,384." in page
    assert "Shown with tensor parallelism 4" in page
    assert client.get("/explore/layout/0.svg?tensor=3").status_code == 200
    assert explored("layout", gpus="64", virtual="1").notice.endswith("Shown with pipeline stages 8.")
    assert explored("layout").notice == ""


def test_the_parts_of_a_state_are_those_of_the_lesson() -> None:
    table = explored("memory", parameters="405").figures[0].table
    kept = {part: size for name, part, size in table if name == "data parallel"}
    assert kept == {
        "weights": "810 GB",
        "gradients": "810 GB",
        "master": "1.62 TB",
        "m": "1.62 TB",
        "v": "1.62 TB",
        "total": "6.48 TB",
    }


def test_a_prefetch_agrees_with_another_clock() -> None:
    for layers, compute, gather in itertools.product((1, 2, 7), (1.0, 3.0), (0.5, 1.0, 4.0)):
        _, worked = gathers(layers, 1, compute, gather)
        assert worked[-1][1] == sharded_forward([compute] * layers, [gather] * layers)
        sent = buckets(layers, 1, compute, gather, 0.0)
        assert sent[-1][1] == backward_pass([compute] * layers, [gather] * layers)
        assert sent[-1][1] - layers * compute == pytest.approx(exposed_communication_time(layers, compute, gather))


def test_a_split_sends_what_a_ring_of_matrices_sends() -> None:
    given, up, down = ([[1] * 8] * 4, [[1] * 16] * 8, [[1] * 8] * 16)
    for ranks in (2, 4):
        sent = parallel_mlp(given, up, down, ranks).sent
        told = EXPLORERS["split"].explore(Values(order="column-row", ranks=ranks, hidden=8, wide=16, tokens=4))
        (moved,) = (fact.exact for fact in told.facts if fact.label == "sent, forward")
        assert moved == 2 * max(sent)  # numbers of two bytes


@each("name", SCHEDULES)
def test_what_is_kept_over_time_peaks_where_it_is_said_to(name: str) -> None:
    played = simulate_schedule(build(name, 4, 8), Times(1.0, 1.2, 0.7, 0.1))
    for device, most in enumerate(played.in_flight):
        curve = kept_over_time(played, device)
        assert max(kept for _, kept in curve) == most
        assert [when for when, _ in curve] == sorted(when for when, _ in curve)
        assert curve[-1][1] == pytest.approx(0)


@pytest.mark.parametrize(("code", "name", "bits"), [("<e", "fp16", 16), ("<f", "fp32", 32)])
@given(data=st.data())
def test_bits_are_those_of_the_machine(
    code: str, name: Literal["fp16", "fp32"], bits: int, data: st.DataObject
) -> None:
    pattern = data.draw(st.integers(0, 2**bits - 1))
    (value,) = struct.unpack(code, pattern.to_bytes(bits // 8, "little"))
    assume(math.isfinite(value))
    assert NumberFormat.named(name).bits(value) == f"{pattern:0{bits}b}"


def test_an_explorer_that_is_opened_must_be_named_rightly() -> None:
    for name, state, says in (
        ("pipelin", {}, "did you mean 'pipeline'"),
        ("pipeline", {"stage": "4"}, "did you mean 'stages'"),
        ("pipeline", {"stages": "40"}, "16 is the largest"),
        ("layout", {"tensor": "3"}, "do not divide"),
        ("split", {"ranks": "3"}, "do not divide"),
    ):
        with pytest.raises(ValueError, match=says):
            open_explorer(EXPLORERS, name, state)


def test_a_hierarchy_is_looked_at_from_a_level_down() -> None:
    for zoom, names in (("all", 4), ("NVLink", 3), ("network", 2), ("across pods", 1)):
        assert len(explored("bandwidth", zoom=zoom).figures[1].table) == 1 + names


@each(
    ("name", "given", "says"),
    [
        ("all-reduce", {}, "the **hierarchical** algorithm is fastest. A ring takes 126 steps and a tree 12;"),
        ("all-reduce", {}, "keeps most traffic inside the nodes of 8."),
        ("all-reduce", {"node": "64"}, "needs at least two full nodes of 64 ranks."),
        ("all-reduce", {"node": "1"}, "needs at least two full nodes of 2 ranks."),
        ("ring", {}, "the **ring** algorithm is fastest"),
        ("memory", {"parameters": "7", "memory": "112"}, "The lowest stage that fits is **data parallel**."),
        ("memory", {"parameters": "7", "memory": "111"}, "The lowest stage that fits is **ZeRO stage 1**."),
        ("memory", {"parameters": "405", "ranks": "8"}, "**None of them fits.**"),
        ("hybrid-sharding", {"group": "16"}, "Groups of 8 are fastest: 142.9 ms."),
        ("hybrid-sharding", {"group": "16"}, "to 3 other groups"),
        ("overlap", {**THREE, "reduce": "10", "latency": "0"}, "takes less time to reduce than the next one"),
        ("overlap", {**THREE, "reduce": "10"}, "takes longer to reduce than the next one"),
        ("overlap", {**THREE, "bucket": "5"}, "There are 3 layers, so a single bucket holds them all."),
        ("overlap", {"compute": "1", "reduce": "100", "layers": "2"}, "99.5 times the backward pass"),
        ("overlap", {"what": "weights", "ahead": "0"}, "Nothing is prefetched"),
        ("overlap", {"what": "weights", "ahead": "2"}, "Prefetching 2, 1 ms of each later all-gather is exposed."),
        ("pipeline", {"schedule": "dualpipe", "stages": "5", "microbatches": "7"}, "6 stages and 12 micro-batches"),
        ("pipeline", {"schedule": "dualpipe_v", "stages": "5", "microbatches": "7"}, "5 stages and 10 micro-batches"),
        ("pipeline", {"schedule": "interleaved", "stages": "4", "microbatches": "9"}, "4 stages and 12 micro-batches"),
        ("routing", {"ranks": "8", "factor": "1.25"}, "capacity of 640 copies per expert"),
        ("checkpoints", {"checkpoint": "3600", "interval": "30"}, "15 min of repeated work and restart"),
        ("checkpoints", {}, "2.72 % for writing checkpoints and 2.08 % for repeating lost work"),
        ("formats", {"weight": "1", "update": "0.005"}, "is 0.64 of that: it **survives**"),
        ("formats", {"weight": "1", "update": "0.0039"}, "is 0.4992 of that: it **is rounded away**"),
        ("split", {"order": "row-column"}, "an **all-reduce** of 536.9 MB must come before the activation function"),
        ("split", {"order": "row-column"}, "an **all-gather** of 134.2 MB"),
        ("gpus", {"peak": "sparse"}, "the peak grew **900 times**"),
        ("bandwidth", {"gpu": "H100 PCIe"}, "This card has no NVLink"),
        ("fit", {}, "**Published:** Llama 3 405B on 16,384 H100s reports 41 % MFU, which is a step of 6.406 s."),
    ],
)
def test_a_sentence_says_what_is_true_of_the_state(name: str, given: dict[str, str], says: str) -> None:
    assert says in explored(name, **given).says


def test_a_pipeline_that_is_played_as_asked_says_nothing_of_it() -> None:
    assert "Shown with" not in explored("pipeline", schedule="dualpipe", stages="4", microbatches="8").says
    assert "Shown with" not in explored("pipeline", schedule="interleaved", microbatches="8").says
    assert len(explored("pipeline", against="1f1b").figures) == 2


@each(
    ("name", "given", "says"),
    [
        ("routing", {"experts": "2", "active": "4", "ranks": "2"}, "A token cannot go to 4 of 2 experts; shown with"),
        ("routing", {"experts": "6", "ranks": "4"}, "6 experts do not divide evenly over 4 GPUs; shown on 3 GPUs."),
        ("routing", {"experts": "7", "ranks": "4"}, "7 experts do not divide evenly over 4 GPUs; shown on one GPU."),
        ("routing", {"experts": "8", "ranks": "4", "active": "8"}, ""),
        ("run", {"days": "10"}, "10 days would take 2.71 times the peak of these GPUs."),
        ("run", {"days": "28"}, ""),
    ],
)
def test_a_notice_says_what_is_shown_instead(name: str, given: dict[str, str], says: str) -> None:
    notice = explored(name, **given).notice
    assert notice.startswith(says)
    assert bool(notice) == bool(says)


@each(
    ("name", "wrong"),
    [
        ("all-reduce", [16e6, 250e3, 28.5e6]),  # 64 ranks, 5 us at 50 GB/s, 126 and 12 steps
        ("memory", [1120e9, 70e9 * 2 / 64, 70e9 * (2 + 2 + 12 / 64), 70e9 * (2 + 14 / 64)]),
        ("gpus", [8000 / 288, 24, 2**6]),
        ("bandwidth", [900e9, 3.352e12, 50e9]),
        ("split", [2 * 8192 * 8192, 0]),
        ("overlap", [5 / 6, 0]),
        ("pipeline", [3 / 8, 3 / 11, 8 / 11]),
        ("formats", [2**-7, 0.02 * 2**-7, 2**-14]),
        ("routing", [256 * 1.25, 256]),
        ("run", [2 * 405e9 * 15.6e12 / (16384 * 989e12 * 0.4), 67.7 * 86400 * 0.4, 67.7 * 86400 / 2]),
    ],
)
def test_a_foreseen_mistake_is_the_number_that_it_explains(name: str, wrong: list[float]) -> None:
    explorer = EXPLORERS[name]
    others = [value for value, _ in explorer.foreseen.others(Values(read_controls(explorer.controls, {})[0]))]
    assert others == pytest.approx(wrong, rel=2e-3)


def test_what_is_yours_is_marked_where_it_is() -> None:
    (plot,) = explored("checkpoints").figures
    assert isinstance(plot, Plot)
    assert [(round(mark.x), round(mark.y, 4)) for mark in plot.marks] == [(4115, 0.0476), (3600, 0.0481)]
    batches, _ = explored("learning-rate").figures
    assert isinstance(batches, Plot)
    assert [(mark.x, mark.y) for mark in batches.marks] == [(2048, 1.5), (2048, 3), (1024, 2)]


def test_the_bars_of_a_backward_pass_are_layers_and_buckets_from_the_last_one() -> None:
    (timeline,) = explored("overlap", **{**THREE, "bucket": "2"}).figures
    assert isinstance(timeline, Timeline)
    work, sent = ([bar.label for bar in lane.bars] for lane in timeline.rows)
    assert (work, sent) == (["3", "2", "1"], ["2–3", "1–1"])
    (timeline,) = explored("overlap", **THREE).figures
    assert isinstance(timeline, Timeline)
    assert [bar.label for bar in timeline.rows[1].bars] == ["3", "2", "1"]

"""What a line of a prediction says, and what is said of one that is not valid."""

import json
import random
import re
from collections.abc import Mapping
from typing import Any

import pytest

from app.core.folders import ROOT
from app.core.formulas.layout import fits, projected_utilization, total_step_time
from app.core.formulas.memory import memory_budget
from app.core.formulas.presets import Cluster, Layout, ModelShape, Recipe
from app.core.predicting.estimate import FIELDS, Estimate, PredictionReader, explain_estimate
from app.core.predicting.lines import Predictor
from tests.each import each

LIMIT = 20_000
LAYOUT = {"tensor": 4, "pipeline": 4, "data": 4, "microbatches": 8, "sequence": 4096}
LINE: dict[str, Any] = {"ref": "a", "model": "Llama-3.1-70B", "cluster": "64 H100", "layout": LAYOUT}
MODEL, CLUSTER, PLACED = (ModelShape.named("Llama-3.1-70B"), Cluster.named("64 H100"), Layout.of(LAYOUT))
MEGATRON = Recipe(weight_bytes=2, gradient_bytes=4, optimizer_bytes=12)
KEYS = ["ref", "step_time", "low", "high", "parts", "tokens_per_second_per_gpu", "mfu", "memory", "fits", "why"]
KEYS += ["cluster", "doubts"]


def results(*lines: object) -> list[Any]:
    raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    return [json.loads(row) for row in Predictor(LIMIT).results(raw)]


def result(**changed: object) -> Any:
    return results({**LINE, **changed})[0]


def test_a_line_out_has_every_field_of_the_contract_and_no_other() -> None:
    row = result()
    assert list(row) == KEYS
    assert list(row["memory"]) == ["allocated", "reserved", "stages", "parts"]
    assert row["ref"] == "a"
    assert type(row["fits"]) is bool
    assert isinstance(row["why"], str)


def test_the_time_is_that_of_the_formulas() -> None:
    row = result(recipe="mixed")
    total = total_step_time(MODEL, CLUSTER, PLACED)
    assert row["step_time"] == pytest.approx(total, rel=1e-12)
    assert row["step_time"] == pytest.approx(sum(row["parts"].values()), rel=1e-12)
    assert row["low"] <= row["step_time"] <= row["high"]
    rate = PLACED.tokens / total / 64
    assert row["tokens_per_second_per_gpu"] == pytest.approx(rate, rel=1e-12)
    used = projected_utilization(MODEL, CLUSTER, PLACED)
    assert row["mfu"] == pytest.approx(used, rel=1e-12)


def test_the_memory_is_that_of_the_formulas_with_the_recipe_of_megatron() -> None:
    memory = result()["memory"]
    fullest = memory_budget(MODEL, PLACED, MEGATRON)
    assert memory["allocated"] == pytest.approx(fullest.total, rel=1e-12)
    assert memory["parts"] == pytest.approx(fullest._asdict())
    assert len(memory["stages"]) == 4
    assert max(memory["stages"]) == memory["allocated"] < memory["reserved"]
    assert memory == result(recipe=MEGATRON.text)["memory"]
    lean = result(recipe={"name": "no master copy"})["memory"]
    assert lean["parts"]["optimizer"] == pytest.approx(memory["parts"]["optimizer"] * 8 / 12)


def test_without_recomputation_memory_and_time_rest_on_the_same_attention() -> None:
    none, selective = (result(layout={**LAYOUT, "recompute": one}) for one in ("none", "selective"))
    assert none["memory"] == selective["memory"]
    assert none["step_time"] == selective["step_time"]
    assert "fused, as in FlashAttention" in none["why"]
    assert "FlashAttention" not in selective["why"]
    none, selective = (
        result(layout={**LAYOUT, "recompute": one}, shares="kernels=unfused") for one in ("none", "selective")
    )
    assert none["memory"]["allocated"] > selective["memory"]["allocated"]
    assert none["step_time"] < selective["step_time"]
    assert "stores its scores" in none["why"]


@each(
    ("layout", "assumes"),
    [
        ("tensor=8 data=8", True),
        ("tensor=8 data=8 sequence_parallel=no", True),
        ("tensor=8 data=8 sequence=8192", False),
        ("tensor=8 data=8 sequence=4096", False),
        ({"tensor": 8, "data": 8}, True),
        ({"tensor": 8, "data": 8, "sequence": 8192}, False),
        ("--tensor-model-parallel-size 8 --micro-batch-size 1 --global-batch-size 8", True),
        ("--tensor-model-parallel-size 8 --micro-batch-size 1 --global-batch-size 8 --seq-length 8192", False),
    ],
)
def test_a_length_of_sequences_that_no_one_gave_is_said_to_be_assumed(layout: object, assumes: bool) -> None:
    assert any("Sequences of 8,192 tokens are assumed" in one for one in result(layout=layout)["doubts"]) is assumes


def test_what_a_configuration_leaves_out_is_a_doubt_and_stands_in_the_verdict() -> None:
    zero = {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "none"}}
    layout = {"train_micro_batch_size_per_gpu": "auto", "zero_optimization": zero, "bf16": {"enabled": True}}
    found = result(cluster="8 H100", layout=layout)
    assert found["doubts"][1:] == [
        "The layout: auto is taken as 1: train_micro_batch_size_per_gpu.",
        "The layout: it also says offload optimizer, which is left out.",
    ]
    assert "It does not fit, unless offload makes room, which is left out: a GPU needs" in found["why"]
    without = result(cluster="8 H100", layout={"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3}})
    assert "It does not fit: a GPU needs" in without["why"]


def test_a_model_type_that_is_not_known_is_a_doubt() -> None:
    shape = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 14336}
    known, other = ({**shape, "vocab_size": 128256, "model_type": kind} for kind in ("llama", "llama9"))
    assert result(model=known)["doubts"] == []
    assert result(model=other)["doubts"] == [
        "The model: model_type llama9 is not known: read as a Llama, with a gate, RMSNorm and no biases."
    ]


def test_the_cluster_is_said_as_it_was_understood() -> None:
    found = result(cluster="16 nodes of 4 H100")
    assert found["cluster"] == {
        "gpu": "H100 SXM",
        "nodes": 16,
        "gpus_per_node": 4,
        "intra_bandwidth": 450e9,
        "inter_bandwidth": 50e9,
        "text": "16 nodes of 4 H100 SXM; each GPU sends 450 GB/s inside a node and 50 GB/s between nodes",
    }
    assert found["step_time"] == result(cluster="64 H100 gpus_per_node=4")["step_time"] > result()["step_time"]


def test_two_dies_in_one_name_are_a_doubt() -> None:
    modules, dies = (result(cluster=f"64 {gpu}")["doubts"] for gpu in ("MI250X", "MI250X GCD"))
    assert len(modules) == 1
    assert "PyTorch sees 2 GPUs in one MI250X" in modules[0]
    assert dies == []


@each("micro_batch", [1, 8, 64])
def test_it_fits_where_the_formula_says_so(micro_batch: int) -> None:
    row = result(layout={**LAYOUT, "micro_batch": micro_batch})
    placed = Layout.of({**LAYOUT, "micro_batch": micro_batch})
    assert row["fits"] == fits(MODEL, CLUSTER, placed, MEGATRON)
    assert ("does not fit" in row["why"]) != row["fits"]
    assert ("more than the 80 GB available" in row["why"]) != row["fits"]


def test_records_are_text_or_objects() -> None:
    as_text = " ".join(f"{name}={value}" for name, value in LAYOUT.items())
    gpu = {"name": "H100", "memory": "80 GB"}
    assert result() == result(model={"name": "Llama-3.1-70B"}, cluster={"name": "64 H100", "gpu": gpu}, layout=as_text)


def test_shares_are_those_of_the_line() -> None:
    slow, fast = (result(shares={"product": share})["step_time"] for share in (0.3, 0.9))
    assert 1.5 < slow / fast < 3
    assert result(shares="product=0.3") == result(shares={"product": 0.3})
    assert result(shares=None) == result()


def test_records_that_are_equal_in_python_but_not_in_json_are_not_mixed_up() -> None:
    one, yes = results({**LINE, "layout": {**LAYOUT, "virtual": 1}}, {**LINE, "layout": {**LAYOUT, "virtual": True}})
    assert "step_time" in one
    assert "virtual must be a whole number, not True" in yes["error"]
    text, made = results(
        {**LINE, "layout": LAYOUT}, {**LINE, "layout": str(LAYOUT)}
    )  # the text of the object is not the object
    assert "step_time" in text
    assert "error" in made


WRONG: list[tuple[Mapping[str, object], str]] = [
    ({"layout": {"tensr": 4}}, "layout: a layout has no field 'tensr'; did you mean 'tensor'?"),
    ({"layout": {**LAYOUT, "tensor": 3}}, "layout must have as many GPUs as the cluster, 64, not 48"),
    ({"layout": "tensor=5 data=13", "cluster": "64 H100 gpus=65 gpus_per_node=5"}, "divides the heads, 64, not 5"),
    ({"layout": {**LAYOUT, "data": float("nan")}}, "layout: data must be a whole number, not nan"),
    ({"layout": {**LAYOUT, "data": -4}}, "layout: data must be at least 1, not -4"),
    ({"layout": "pipeline=2048", "cluster": "64 H100 gpus=2048", "model": "405B layers=4096"}, "at most 1,024 here"),
    ({"layout": 8}, "layout must be text or an object, not 8"),
    ({"layout": "x" * 3000}, "layout: at most 2,000 characters are read, not 3,000"),
    ({"layout": {"x" * 3000: 1}}, "x…'"),
    ({"model": "Llama-3.1-71B"}, "model: no model shape is called 'Llama-3.1-71B'; did you mean 'Llama-3.1-70B'?"),
    ({"model": None}, "model must be text or an object, not None"),
    ({"model": {"name": "405B", "hidden": 10**30}}, "at most 1e+30"),
    ({"cluster": {"name": "64 H100", "gpu": "H10"}}, "cluster: no GPU is called 'H10'; did you mean 'H100'?"),
    ({"cluster": {"name": "64 H100", "intra_bandwidth": "450 GB"}}, "cluster: intra_bandwidth: cannot read '450 GB'"),
    ({"recipe": "mixd"}, "recipe: no recipe is called 'mixd'; did you mean 'mixed'?"),
    ({"shares": {"prodct": 0.5}}, "shares: a set of shares has no field 'prodct'; did you mean 'product'?"),
    ({"shares": {"product": 1.5}}, "shares: product must be at most 1, not 1.5"),
    ({"measured": -1}, "measured must be a number above 0, not -1"),
    ({"measured": 0}, "measured must be a number above 0, not 0"),
    ({"measured": float("nan")}, "measured must be a number above 0, not nan"),
    ({"measured": float("inf")}, "measured must be a number above 0, not inf"),
    ({"measured": True}, "measured must be a number above 0, not True"),
    ({"measured": "3 GB"}, "measured: cannot read '3 GB': B given, s expected"),
    ({"measured": [1]}, "measured must be a number above 0, not [1]"),
    ({"measured_memory": -5e9}, "measured_memory must be a number above 0, not -5000000000"),
    ({"group": 3}, "group must be text of at most 200 characters, not 3"),
    ({"group": "g" * 201}, "group must be text of at most 200 characters"),
    ({"mesured": 3}, "no field is called 'mesured'; did you mean 'measured'?"),
]


@each(("changed", "says"), WRONG, ids=[says for _, says in WRONG])
def test_a_line_that_is_not_valid_says_what_is_wrong(changed: Mapping[str, object], says: str) -> None:
    row = result(**changed)
    assert list(row) == ["ref", "error"]
    assert row["ref"] == "a"
    assert row["error"].startswith("line 1: ")
    assert says in row["error"]
    assert len(row["error"]) < 600


@each(
    ("raw", "ref", "says"),
    [
        (b"{", None, "not valid JSON at character 2"),
        (b"[1]", None, "must be a JSON object"),
        (b'{"ref": "a", "model": "405B", "model": "Mixtral"}', "a", "'model' is given twice"),
        (b'{"ref": "a\xff"}', None, "not UTF-8 at byte 11"),
        (b'{"ref": 1.5}', None, "ref must be text or a whole number, not 1.5"),
        (b'{"ref": true}', None, "ref must be text or a whole number, not True"),
        (b'{"ref": 7}', 7, "model, cluster and layout must be given"),
        (b'{"ref": "b", "model": "405B", "layout": {}}', "b", "cluster must be given"),
        (b"[" * 10_000, None, "not valid JSON"),
        (b'{"measured": ' + b"9" * 5000 + b"}", None, "not valid JSON: "),
        (b"\xef\xbb\xbf{}", None, "model, cluster and layout must be given"),
    ],
    ids=str,
)
def test_a_line_that_is_not_an_object_of_known_fields(raw: bytes, ref: object, says: str) -> None:
    (row,) = results(raw)
    assert row["ref"] == ref
    assert row["error"].startswith(f"line 1: {says}")


def test_a_line_that_is_nested_deeply_is_an_error_whether_python_can_read_it_or_not() -> None:
    for depth in (500, 2_000, 9_000):
        (row,) = results(b"[" * depth + b"]" * depth)
        assert row["error"].startswith(("line 1: not valid JSON", "line 1: must be a JSON object"))


def test_errors_are_in_their_places_with_the_numbers_of_their_lines() -> None:
    predictor = Predictor(LIMIT)
    good = json.dumps(LINE).encode()
    rows = [json.loads(row) for row in predictor.results([good, b" \r", b"no", None, good])]
    assert [row.get("error", "").partition(":")[0] for row in rows] == ["", "line 3", "line 4", ""]
    assert rows[2] == {"ref": None, "error": "line 4: too long: at most 20,000 bytes are read"}
    assert (predictor.tally.predicted, predictor.tally.errors) == (2, 2)
    assert not list(predictor.results([]))
    assert b"line 6" in next(predictor.results([b"no"]))  # numbers go on


def test_whatever_the_numbers_are_a_result_is_json_without_infinities() -> None:
    source = random.Random(17)
    extremes = (1, 2, 3, 1e-30, 1e15, 10**29, 1e30, 1e200, 10**400, -1, 0)

    def line() -> dict[str, object]:
        layout = {key: source.choice(extremes) for key in ("microbatches", "sequence", "micro_batch")}
        cluster = {key: source.choice(extremes) for key in ("inter_latency", "intra_bandwidth")}
        model = {key: source.choice(extremes) for key in ("layers", "hidden", "heads")}
        return {
            "model": {"name": "405B", **(model if source.random() < 0.3 else {})},
            "cluster": {"name": "One node of 8 H100", **cluster, "inter_bandwidth": 1e-30},
            "layout": {**layout, "data": 8, "sequence_parallel": False},
            "shares": {"product": source.choice((1e-30, 1, 0.5))},
        }

    raw = [json.dumps(line()).encode() for _ in range(400)]
    rows = [json.loads(row, parse_constant=pytest.fail) for row in Predictor(LIMIT).results(raw)]
    assert {"step_time" in row for row in rows} == {"error" in row for row in rows} == {True, False}


def test_the_documentation_names_every_field_and_its_lines_are_valid() -> None:
    page = (ROOT / "app" / "docs" / "tools.md").read_text(encoding="utf-8")
    section = page.partition("## Predict a step")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {*FIELDS, *KEYS}
    (example,) = re.findall(r"```json\n(.*?)```", section, re.DOTALL)
    assert [list(row) for row in results(*example.encode().splitlines())] == [KEYS] * 2


def test_what_is_remembered_is_bounded() -> None:
    reader = PredictionReader()
    for number in range(1, 2500):
        layout = {**LAYOUT, "microbatches": number}
        reader.read(json.dumps({**LINE, "layout": layout}).encode())
    assert len(reader._known) <= 1000
    reader.read(json.dumps({**LINE, "layout": {**LAYOUT, "source": "s" * 2000}}).encode())
    assert max(len(written) for _, _, written in reader._known) <= 1000


def estimated(**changed: object) -> Estimate:
    fields: dict[str, Any] = {
        "parts": {"products": 6.0, "bubble": 3.0, "data": 0.99, "skew": 0.01},
        "total": 10.0,
        "low": 10.0,
        "high": 10.0,
        "utilization": 0.5,
        "token_rate": 1.0,
        "stages": (60e9, 70e9, 50e9),
        "memory": {"weights": 20e9, "activations": 50e9},
        "reserved": 73e9,
        "room": 80e9,
        "cluster": CLUSTER,
    }
    return Estimate(**{**fields, **changed})


def test_why_names_what_limits_the_step_and_what_lacks() -> None:
    limits = "The largest part of the step is matrix products (60 %), then the pipeline bubble (30 %)."
    fit = "It fits: stage 1 of 3, the fullest, needs 70 GB of 80 GB."
    assert explain_estimate(estimated()) == f"{limits} {fit}"
    assert explain_estimate(estimated(room=67e9)) == (
        f"{limits} It does not fit: stage 1 of 3, the fullest, needs 70 GB, 3 GB more than the 67 GB"
        " available; the largest part is activations (50 GB)."
    )
    alone = explain_estimate(estimated(parts={"compute": 10.0, "data": 0.0}, stages=(70e9,)))
    assert alone == "The largest part of the step is computation (100 %). It fits: a GPU needs 70 GB of 80 GB."
    assert "It takes 9 s to 12 s: not every share" in explain_estimate(estimated(low=9.0, high=12.0))

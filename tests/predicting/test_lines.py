"""What a line of a prediction says, and what is said of one that is not valid."""

import json
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate
from typing import Any, get_args

import pytest

from app.core.errors import InputError
from app.core.folders import ROOT
from app.core.formulas.layout import fits, projected_utilization, total_step_time
from app.core.formulas.memory import memory_budget
from app.core.formulas.presets import Cluster, Layout, ModelShape, Recipe
from app.core.formulas.step.memory import StageMemory
from app.core.formulas.step.speeds import Side
from app.core.predicting.estimate import (
    Estimate,
    PredictionRequest,
    StepFigures,
    estimate,
    explain_estimate,
    figures_in_columns,
)
from app.core.predicting.lines import PredictionTally, Predictor, TalliedLine
from app.core.predicting.reader import FIELDS, PredictionReader
from tests.each import each

LIMIT = 20_000
LAYOUT = {"tensor": 4, "pipeline": 4, "data": 4, "microbatches": 8, "sequence": 4096}
LINE: dict[str, Any] = {
    "ref": "a",
    "model": "Llama-3.1-70B",
    "cluster": "64 H100",
    "layout": LAYOUT,
    "stack": "Megatron",
}
MODEL, CLUSTER, PLACED = (ModelShape.named("Llama-3.1-70B"), Cluster.named("64 H100"), Layout.of(LAYOUT))
MEGATRON = Recipe(weight_bytes=2, gradient_bytes=4, optimizer_bytes=12)
KEYS = ["ref", "step_time", "low", "high", "parts", "tokens_per_second_per_gpu", "mfu", "memory", "fits", "why"]
KEYS += ["cluster", "stack", "doubts"]


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


def test_the_time_is_that_of_the_formulas_but_for_what_the_stack_changes() -> None:
    row = result(recipe="mixed")
    total = total_step_time(MODEL, CLUSTER, PLACED)
    assert row["step_time"] == pytest.approx(total, rel=0.1)
    assert row["step_time"] == pytest.approx(sum(row["parts"].values()), rel=1e-12)
    assert row["low"] < row["step_time"] < row["high"]
    rate = PLACED.tokens / row["step_time"] / 64
    assert row["tokens_per_second_per_gpu"] == pytest.approx(rate, rel=1e-12)
    used = projected_utilization(MODEL, CLUSTER, PLACED) * total / row["step_time"]
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


def test_a_configuration_says_the_stack_of_its_line() -> None:
    zero = {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "none"}}
    layout = {"train_micro_batch_size_per_gpu": "auto", "zero_optimization": zero, "bf16": {"enabled": True}}
    found = result(cluster="8 H100", layout=layout, stack=None)
    assert (found["stack"]["name"], found["stack"]["offload"]) == ("DeepSpeed", "optimizer")
    assert found["doubts"][1:] == ["The layout: auto is taken as 1: train_micro_batch_size_per_gpu."]
    assert found["memory"]["parts"]["optimizer"] == 0
    whole = result(cluster="8 H100", layout={**layout, "zero_optimization": {"stage": 3}}, stack=None)
    assert whole["memory"]["parts"]["optimizer"] > 100e9
    named = result(cluster="8 H100", layout=layout, stack="FSDP2", offload="none")
    assert (named["stack"]["name"], named["stack"]["offload"]) == ("FSDP2", "none"), "what a line says counts first"


def test_a_file_of_torchtitan_has_the_memory_that_torchtitan_published() -> None:
    """Llama 3.1 8B on 8 H100s: 77.0 GiB reserved (benchmarks/llama3_h100_202412_torchtitan.md, table 1)."""
    layout = (
        "[training]\nlocal_batch_size = 2\nseq_len = 8192\n[parallelism]\ndata_parallel_shard_degree = -1\n"
        '[activation_checkpoint]\nmode = "selective"\nselective_ac_option = "op"\n'
    )
    found = result(model="Llama-3.1-8B", cluster="8 H100", layout=layout, stack=None)
    assert found["stack"]["name"] == "torchtitan"
    assert found["memory"]["reserved"] / 2**30 == pytest.approx(77.0, rel=0.03)


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


@each("micro_batch", [1, 4, 64])
def test_it_fits_where_the_formula_says_so(micro_batch: int) -> None:
    said = {"loss": "in place", "compiled": "yes", "recipe": MEGATRON.text}
    row = result(layout={**LAYOUT, "micro_batch": micro_batch}, **said)
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


STACKS = (
    "Megatron",
    "Megatron recompute_every=4",
    "DeepSpeed offload=both offload_to=NVMe",
    "FSDP2 compiled=no adapter=QLoRA",
    "DeepSpeed adapter=LoRA offload=optimizer",
)


@pytest.mark.parametrize("model", ["Llama-3.1-70B", "DeepSeek-V3", "Mixtral-8x7B"])
@pytest.mark.parametrize("stack", STACKS)
def test_lines_that_are_read_at_once_get_what_each_gets_alone(model: str, stack: str) -> None:
    source = random.Random(f"{model} {stack}")

    def line(recompute: str) -> bytes:
        tensor, pipeline, context = (source.choice(some) for some in ((1, 2, 8), (1, 2, 4), (1, 2)))
        layout: dict[str, object] = {"tensor": tensor, "pipeline": pipeline, "context": context, "recompute": recompute}
        layout |= {"data": 64 // (tensor * pipeline * context), "microbatches": source.choice((4, 8, 20))}
        layout |= {"zero_stage": source.randrange(4), "micro_batch": source.choice((1, 3))}
        layout |= {"first_layers": source.choice((0, 7)) if pipeline > 1 else 0, "shard_ranks": source.choice((0, 2))}
        layout |= {"expert": 2} if model != "Llama-3.1-70B" and source.random() < 0.5 else {}
        return json.dumps({**LINE, "model": model, "stack": stack, "layout": layout}).encode()

    lines = [line(recompute) for recompute in ("none", "selective", "full", "operations") for _ in range(12)]
    source.shuffle(lines)
    lines[3] = b"no"
    alone, together = (list(map(json.loads, Predictor(LIMIT).results(lines, size))) for size in (1, len(lines)))
    assert sum("error" not in row for row in alone) > len(lines) / 2
    assert_same(together, alone)


def assert_same(value: object, expected: object) -> None:
    """Both are the same JSON; numbers may differ in their last digits."""
    if isinstance(value, dict) and isinstance(expected, dict):
        assert list(value) == list(expected)
        assert_same(list(value.values()), list(expected.values()))
    elif isinstance(value, list) and isinstance(expected, list):
        for one, other in zip(value, expected, strict=True):
            assert_same(one, other)
    elif isinstance(value, float):
        assert value == pytest.approx(expected, rel=1e-12)
    else:
        assert value == expected


@pytest.mark.parametrize(("alike", "computed"), [(7, 0), (8, 8)])
def test_lines_are_computed_in_columns_where_enough_differ_in_their_layouts_alone(alike: int, computed: int) -> None:
    reader = PredictionReader()
    layouts = [{**LAYOUT, "microbatches": count} for count in range(4, 4 + alike)]
    lines = [{**LINE, "layout": layout} for layout in layouts] + [{**LINE, "model": "Llama-3.1-8B"}]
    figures = figures_in_columns([reader.asked(line) for line in lines])
    assert sum(one is not None for one in figures) == computed
    assert figures[-1] is None


def test_layouts_that_columns_cannot_hold_are_predicted_beside_those_that_they_can() -> None:
    deep = {"tensor": 1, "pipeline": 64, "data": 1, "microbatches": 64, "sequence": 4096}
    deeper = {**deep, "pipeline": 80}
    large = {**LAYOUT, "microbatches": 2**40}
    lines = [{**LINE, "layout": {**LAYOUT, "microbatches": count}} for count in range(4, 20)]
    lines += [{**LINE, "layout": deep}, {**LINE, "layout": deeper, "cluster": "80 H100"}, {**LINE, "layout": large}]
    raw = [json.dumps(one).encode() for one in lines]
    alone, together = (list(map(json.loads, Predictor(LIMIT).results(raw, size))) for size in (1, len(raw)))
    assert [len(row["memory"]["stages"]) for row in together] == [4] * 16 + [64, 80, 4]
    assert_same(together, alone)


@pytest.mark.parametrize(("at_once", "sizes"), [(1, [1, 1, 1, 1, 1]), (2, [2, 2, 1]), (9, [5])])
def test_so_many_lines_are_read_before_the_first_is_answered(at_once: int, sizes: list[int]) -> None:
    read: list[int] = []

    def lines() -> Iterator[bytes]:
        for count in range(5):
            read.append(count)
            yield b"no"

    waits = [len(read) for _ in Predictor(LIMIT).results(lines(), at_once)]
    ends = list(accumulate(sizes))
    assert waits == [end for end, size in zip(ends, sizes, strict=True) for _ in range(size)]


def test_long_lines_are_read_in_fewer_at_once() -> None:
    read: list[bytes] = []

    def lines() -> Iterator[bytes]:
        for _ in range(40):
            read.append(b"x" * 1_000_000)
            yield read[-1]

    next(Predictor(2_000_000).results(lines(), 1000))
    assert len(read) == 5


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
        "least": 70e9,
        "room": 80e9,
        "cluster": CLUSTER,
    }
    return Estimate(**{**fields, **changed})


def test_why_names_what_limits_the_step_and_what_lacks() -> None:
    limits = "The largest part of the step is matrix products (60 %), then the pipeline bubble (30 %)."
    fit = "It fits: stage 1 of 3, the fullest, needs 70 GB of 80 GB."
    assert explain_estimate(estimated()) == f"{limits} {fit}"
    assert explain_estimate(estimated(room=62e9)) == (
        f"{limits} It does not fit: stage 1 of 3, the fullest, needs 70 GB, 8 GB more than the 62 GB"
        " available; the largest part is activations (50 GB)."
    )
    alone = explain_estimate(estimated(parts={"compute": 10.0, "data": 0.0}, stages=(70e9,)))
    assert alone == "The largest part of the step is computation (100 %). It fits: a GPU needs 70 GB of 80 GB."
    assert "It takes 9 s to 12 s: runs with all of this" in explain_estimate(estimated(low=9.0, high=12.0))


def test_parts_of_a_hundredth_of_the_step_are_named_and_smaller_ones_are_not() -> None:
    says = explain_estimate(estimated(parts={"compute": 9.805, "data": 0.1, "offload": 0.095}, total=10.0))
    assert says.startswith("The largest part of the step is computation (98 %), then data parallelism (1 %). It")


@each(
    ("fast", "slow", "named", "ends"),
    [
        (9.0, 11.0, True, (8.5, 12.2)),  # releases and machines differ by as much
        (8.0, 11.0, True, (8.0, 12.2)),
        (9.0, 13.0, True, (8.5, 13.0)),
        (5.0, 9.0 / 0.8, True, (5.8, 10.5)),  # at most 1.8, on both sides of the middle
        (5.0, 10.5, False, (5.0, 12.2)),  # 2.44, at most 2.2
    ],
)
def test_the_range_has_the_sides_of_what_is_unknown_and_a_least_and_a_largest_width(
    fast: float, slow: float, named: bool, ends: tuple[float, float]
) -> None:
    layout = Layout.of(LAYOUT)
    asked = PredictionRequest(model=MODEL, cluster=CLUSTER, layout=layout, is_named=named)
    sides: tuple[tuple[Side, float], ...] = (("fast", fast), ("middle", 10.0), ("slow", slow))
    times = {side: {"compute": 0.9 * total, "launches": 0.1 * total} for side, total in sides}
    stages = [StageMemory(1e9, 2e9, 3e9, 4e9 + stage, 5e9, 6e9, 7e9) for stage in range(4)]
    found = estimate(asked, StepFigures(times, stages, 20e9, ""))
    width, most = max(slow, 12.2) / min(fast, 8.5), 1.8 if named else 2.2
    assert found.low <= 10.0 <= found.high
    assert found.high / found.low == pytest.approx(min(width, most))
    if width <= most:
        assert (found.low, found.high) == pytest.approx(ends)
    assert (found.allocated, found.least) == (28e9 + 3, 20e9)
    assert found.reserved == pytest.approx(1.05 * found.allocated)
    assert any("for 10 % of the step" in doubt for doubt in found.doubts)


def test_a_step_that_waits_for_the_host_for_a_twentieth_is_no_doubt() -> None:
    asked = PredictionRequest(model=MODEL, cluster=CLUSTER, layout=PLACED, is_named=True)
    for launches, is_doubted in ((0.5, False), (0.51, True)):
        times = dict.fromkeys(get_args(Side), {"compute": 10.0 - launches, "launches": launches})
        stages = [StageMemory(1e9, 0, 0, 0, 0, 0, 0)] * 4
        assert bool(estimate(asked, StepFigures(times, stages, 2e9, "")).doubts) is is_doubted


def test_a_prediction_of_a_ninth_more_than_a_gpu_has_may_fit() -> None:
    assert estimated(room=63e9).fits  # 0.9 of the 70 GB that are predicted
    assert not estimated(room=62.9e9).fits
    assert "It fits:" in explain_estimate(estimated(room=70e9))
    assert "It may not fit" in explain_estimate(estimated(room=69.9e9))


def test_a_pipeline_of_a_thousand_stages_is_the_deepest() -> None:
    cluster = Cluster.read("64 H100 gpus=1025 gpus_per_node=1")
    asked = PredictionRequest(model=MODEL, cluster=cluster, layout=Layout.of({"pipeline": 1025}))
    with pytest.raises(ValueError, match="pipeline must be at most 1,024 here, as each stage is listed, not 1,025"):
        estimate(asked)
    with pytest.raises(ValueError, match="layers"):  # the next rule refuses
        estimate(replace(asked, cluster=replace(cluster, gpus=1024), layout=Layout.of({"pipeline": 1024})))


def test_a_verdict_that_rests_on_what_nobody_said_says_unless_what() -> None:
    near = explain_estimate(estimated(room=66e9))
    assert "It may not fit, unless it needs a tenth less than predicted: stage 1" in near
    lean = explain_estimate(estimated(room=62e9, least=50e9, leaner="loss=fused"))
    assert "It may not fit, unless loss=fused: then 50 GB are enough: stage 1" in lean
    assert estimated(room=62e9, least=50e9).fits
    assert not estimated(room=62e9).fits


EIGHT: dict[str, Any] = {
    "model": "Llama-3.1-8B",
    "cluster": "8 H100",
    "layout": "data=8 sequence=4096 zero_stage=3 micro_batch=2",
    "stack": "FSDP2",
}


def parts_of(**said: object) -> tuple[dict[str, float], dict[str, float]]:
    """The seconds and the bytes of a run of eight billion parameters."""
    found = result(**{**EIGHT, **said})
    return found["parts"], found["memory"]["parts"]


def test_a_loss_holds_its_bytes_per_logit() -> None:
    logits = 2 * 4096 * 128_384  # the vocabulary is padded
    held = {loss: parts_of(loss=loss)[1]["logits"] / logits for loss in ("eager", "compiled", "in place", "fused")}
    assert held == pytest.approx({"eager": 18, "compiled": 12, "in place": 2, "fused": 0.25}, rel=1e-3)
    assert parts_of()[1]["logits"] / logits == pytest.approx(18, rel=1e-3)
    assert parts_of(compiled=True)[1]["logits"] / logits == pytest.approx(12, rel=1e-3)


def test_eager_kernels_cost_time_and_bytes_that_a_compiler_saves() -> None:
    (eager, held), (fused, kept) = parts_of(compiled="no"), parts_of(compiled="yes")
    assert eager["element_wise"] > 2 * fused["element_wise"]
    more = 32 * 2 * 4096 * (8 * 4096 + 2 * 14336)  # both norms in FP32, and what the gate multiplies
    assert held["activations"] - kept["activations"] == pytest.approx(more)
    assert eager["products"] == fused["products"]


@each(
    ("optimizer", "bytes_"),
    [("AdamW", 8), ("AdamW 8-bit", 2), ("Lion", 4), ("Muon", 4), ("SGD", 0), ("SGD momentum", 4), ("Adafactor", 0.04)],
)
def test_an_optimizer_holds_its_moments(optimizer: str, bytes_: float) -> None:
    whole, own = (parts_of(optimizer=one)[1]["optimizer"] for one in ("AdamW", optimizer))
    assert own / whole == pytest.approx(bytes_ / 8)  # the weights of FSDP2 are their own master copy
    megatron = {"stack": "Megatron", "layout": "data=8 sequence=4096"}
    whole, own = (parts_of(optimizer=one, **megatron)[1]["optimizer"] for one in ("AdamW", optimizer))
    assert own / whole == pytest.approx((4 + bytes_) / 12)


def test_what_is_stored_in_fewer_bits_takes_fewer_bytes() -> None:
    whole = parts_of(stack="Megatron", layout="data=8 sequence=4096")[1]
    lean = parts_of(stack="Megatron", layout="data=8 sequence=4096", gradients="BF16", moments="BF16", master="none")[1]
    assert lean["gradients"] / whole["gradients"] == pytest.approx(2 / 4)
    assert lean["optimizer"] / whole["optimizer"] == pytest.approx(4 / 12)


def test_an_adapter_trains_few_parameters_of_a_frozen_model() -> None:
    plain = {"stack": "eager", "cluster": "1 H100", "layout": "sequence=4096"}
    (time, full), (faster, low), (slower, least) = (parts_of(**plain, adapter=one) for one in ("none", "LoRA", "QLoRA"))
    assert low["optimizer"] + low["gradients"] < 0.02 * (full["optimizer"] + full["gradients"])
    assert low["weights"] == pytest.approx(full["weights"] * 2 / 4, rel=0.02)
    assert least["weights"] == pytest.approx(full["weights"] * 0.53 / 4, rel=0.08)
    assert faster["products"] == pytest.approx(time["products"] * 2 / 3)
    assert slower["element_wise"] > faster["element_wise"]
    assert faster["optimizer"] < 0.02 * time["optimizer"]


@pytest.mark.parametrize(("stage", "stays"), [(0, True), (1, True), (2, False), (3, False)])
def test_gradients_leave_with_the_optimizer_where_zero_shards_them(stage: int, stays: bool) -> None:
    row = result(stack="DeepSpeed", offload="optimizer", layout={**LAYOUT, "zero_stage": stage})
    assert bool(row["memory"]["parts"]["gradients"]) is stays


def test_what_is_offloaded_leaves_the_gpu_and_takes_the_wire() -> None:
    time, held = parts_of(stack="DeepSpeed")
    away, left = parts_of(stack="DeepSpeed", offload="optimizer")
    assert "offload" not in time
    assert (left["optimizer"], left["gradients"]) == (0, 0)
    assert left["weights"] == held["weights"]
    shard = 8.03e9 / 8  # to PCIe 5 and back in 16 bits; Adam in a share of 200 GB/s
    assert away["offload"] == pytest.approx(shard * (4 / 50e9 + 28 * 8 / 200e9), rel=1e-3)
    assert parts_of(stack="DeepSpeed", offload="both")[1]["weights"] == 0
    old = parts_of(stack="DeepSpeed", offload="optimizer", cluster="4 A10", layout="data=4 zero_stage=3")[0]  # PCIe 4
    assert old["offload"] == pytest.approx(2 * shard * (4 / 25e9 + 28 * 4 / 200e9), rel=1e-3)
    again = [f"{EIGHT['layout']} recompute={one}" for one in ("none", "full")]
    once, twice = (parts_of(stack="DeepSpeed", offload="parameters", layout=one)[0]["offload"] for one in again)
    assert twice == pytest.approx(1.5 * once)
    disk = parts_of(stack="DeepSpeed", offload="optimizer", offload_to="NVMe")[0]
    assert disk["offload"] - away["offload"] == pytest.approx(shard * 24 * 8 / 6e9, rel=1e-3)


def test_gradient_checkpointing_recomputes_all_layers_or_every_so_many() -> None:
    whole, held = parts_of(gradient_checkpointing=True)
    assert (whole, held) == parts_of(layout=f"{EIGHT['layout']} recompute=full")
    none, kept = parts_of(gradient_checkpointing=False)
    for every in (2, 3):
        third, some = parts_of(gradient_checkpointing=True, recompute_every=every)
        assert third["products"] == pytest.approx(whole["products"])
        assert third["recompute"] == pytest.approx((whole["recompute"] + (every - 1) * none["recompute"]) / every)
        assert some["activations"] == pytest.approx((held["activations"] + (every - 1) * kept["activations"]) / every)


def test_the_range_is_narrower_where_the_line_says_more() -> None:
    def width(**said: object) -> float:
        found = result(**{**EIGHT, "layout": "data=8 sequence=32768 zero_stage=3", **said})
        return float(found["high"] / found["low"])

    named = width(compiled="no", attention="FA2")
    assert named < width(compiled="no") <= width() <= 1.8
    assert width(stack=None) <= 2.2
    assert "stack, compiled and attention are not given" in result(**{**EIGHT, "stack": None})["why"]
    assert "compiled and attention are not given" in result(**EIGHT)["why"]
    assert "are not given" not in result(**EIGHT, compiled="no", attention="FA2")["why"]


@each(("stack", "name"), [("torchtitan", "torchtitan"), ("NeMo", "Megatron"), ("HF", "eager"), ("FSDP", "FSDP2")])
def test_a_stack_is_known_by_what_people_call_it(stack: str, name: str) -> None:
    assert result(stack=stack)["stack"]["name"] == name


@each(
    ("layout", "recipe", "name"),
    [
        ("tensor=8 data=8 sequence=4096", None, "Megatron"),
        ("data=64 sequence=4096 zero_stage=3", None, "FSDP2"),
        ("data=64 sequence=4096 zero_stage=3 precision=8-bit", None, "MaxText"),
        ("data=64 sequence=4096", "mixed", "DeepSpeed"),
        ("data=64 sequence=4096", "FSDP2", "FSDP2"),
    ],
)
def test_a_stack_that_is_not_given_is_the_likely_one_and_a_doubt(layout: str, recipe: str | None, name: str) -> None:
    found = result(stack=None, layout=layout, recipe=recipe)
    assert found["stack"]["name"] == name
    suggests = "recipe" if recipe else "layout"
    assert f"The stack is not given: {name} is taken, as the {suggests} suggests." in found["doubts"]


def test_attention_takes_as_long_as_its_kernel() -> None:
    long = {"layout": "data=8 sequence=65536 zero_stage=3"}
    slow, fast, other = (parts_of(**long, attention=one)[0]["attention"] for one in ("FA2", "FA3", "cuDNN"))
    # 0.33 and 0.57 of the peak over sequences that are longer than any ramp.
    assert slow / fast == pytest.approx(0.57 / 0.33, rel=0.01)
    assert fast < other < slow
    tokens, wide = 65536, 32 * 2 * 128 * 32
    flops = 3.5 * tokens * tokens * wide
    assert slow == pytest.approx(flops / (0.33 * 989e12), rel=0.02)


def test_small_eager_steps_wait_for_the_host_and_say_so() -> None:
    small = {"cluster": "4 A100", "layout": "tensor=4 sequence=512 micro_batch=4", "stack": "torchtitan"}
    eager, fused = (result(**{**EIGHT, **small, "compiled": told}) for told in ("no", "yes"))
    assert eager["parts"]["launches"] > 5 * fused["parts"]["launches"]
    assert any("may wait for the host" in one for one in eager["doubts"])


def test_a_tally_counts_what_was_measured_refuted_and_within_its_range() -> None:
    tally = PredictionTally(errors=1)
    plain = TalliedLine("", 0.0, 0.0, 2.0, 1.0, 3.0, 60e9, True)
    tally.count(plain)
    assert "step time" not in str(tally)
    tally.count(plain._replace(measured=2.5))
    tally.count(plain._replace(measured=1.0, low=2.0, high=2.0))  # no range
    tally.count(plain._replace(measured_memory=80e9, fits=False))
    tally.count(plain._replace(fits=False))
    first, times, interval, memory, refuted = str(tally).splitlines()
    assert first == "5 predictions, 1 line with an error"
    assert times.startswith("step time: 2 measured, MAPE 60.0 %, bias +40.0 %, regret 75.0 %")
    assert interval == "  1 of 1 interval hold what was measured; their mean width is 100.0 %"
    assert memory == "memory: 1 measured, MAPE 25.0 %, bias -25.0 %"
    assert refuted == "1 measured run predicted not to fit"


def test_what_was_measured_may_have_a_unit_and_must_be_above_zero() -> None:
    def read(**more: object) -> Any:
        return PredictionReader().read(json.dumps({**LINE, **more}).encode())

    line = read(measured="250 ms", measured_memory="70 GB", group="g" * 200)
    assert (line.measured, line.measured_memory) == (0.25, 70e9)
    assert (read().measured, read().measured_memory, read().group) == (0, 0, "")
    for wrong in ({"measured": 0}, {"measured_memory": "3 s"}, {"group": 3}):
        with pytest.raises((InputError, ValueError), match=next(iter(wrong))):
            read(**wrong)

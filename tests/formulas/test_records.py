"""Records from text and from objects: one reading, one set of errors."""

from dataclasses import asdict, replace

import pytest

from app.core.formulas import FORMULAS
from app.core.formulas.presets import (
    CLUSTERS,
    GPUS,
    LAWS,
    LAYOUTS,
    LINKS,
    MODELS,
    RECIPES,
    SHARES,
    STACKS,
    Cluster,
    Gpu,
    Layout,
    ModelShape,
    ScalingLaw,
)
from app.core.formulas.records import Record
from tests.each import each


@each("kind", [MODELS, CLUSTERS, LAYOUTS, GPUS])
def test_a_record_reads_back_from_its_fields(kind: dict[str, Record]) -> None:
    for known in kind.values():
        assert type(known).of(asdict(known)) == known


def test_numbers_are_in_base_units_and_texts_have_units() -> None:
    links = {"intra_bandwidth": "450 GB/s", "inter_bandwidth": 5e10}
    made = Cluster.of({"name": "ours", "gpu": "H100", "gpus": 16.0, **links})
    assert (made.gpu, made.gpus, made.intra_bandwidth) == (GPUS["H100"], 16, 450e9)
    assert made == Cluster.read("name=ours gpu=H100 gpus=16 intra_bandwidth=450 GB/s inter_bandwidth=400 Gbit/s")


def test_an_object_with_a_known_name_changes_that_record() -> None:
    deeper = ModelShape.of({"name": "llama 3.1 8b", "layers": 40})
    assert deeper == ModelShape.read("Llama-3.1-8B layers=40")
    assert (deeper.name, deeper.hidden, deeper.layers) == ("Llama-3.1-8B", 4096, 40)
    own = Cluster.of({"name": "64 H100", "gpu": {"name": "H100", "memory": "96 GB"}})
    assert (own.gpus, own.gpu.memory, own.gpu.peak) == (64, 96e9, GPUS["H100"].peak)


def test_choices_are_read_as_json_has_them() -> None:
    made = Layout.of({"zero_stage": 3.0, "sequence_parallel": False, "recompute": "Full"})
    assert (made.zero_stage, made.sequence_parallel, made.recompute) == (3, False, "full")


@each(
    ("kind", "given", "says"),
    [
        (Layout, {"tensr": 2}, "a layout has no field 'tensr'; did you mean 'tensor'?"),
        (Layout, {"tensor": "8 GB"}, "tensor: cannot read '8 GB': B given, a whole number expected"),
        (Layout, {"tensor": 2.5}, "tensor must be a whole number, not 2.5"),
        (Layout, {"tensor": float("nan")}, "tensor must be a whole number, not nan"),
        (Layout, {"tensor": float("inf")}, "tensor must be a whole number, not inf"),
        (Layout, {"tensor": True}, "tensor must be a whole number, not True"),
        (Layout, {"tensor": -1}, "tensor must be at least 1, not -1"),
        (Layout, {"tensor": None}, "tensor must be a number, or text with a unit, not null"),
        (Layout, {"tensor": [2]}, "tensor must be a number, or text with a unit, not [2]"),
        (Layout, {"source": 3}, "source must be text, not 3"),
        # The text of no value in Python is a choice: it must not be taken for one.
        (Layout, {"recompute": None}, "recompute must be one of none, selective, operations, full, not 'null'"),
        (Layout, {"zero_stage": True}, "zero_stage must be one of 0, 1, 2, 3, not 'true'"),
        (Cluster, {"name": "64 H100", "gpu": 3}, "gpu must be a GPU, its name or its fields, not 3"),
        (Cluster, {"name": "64 H100", "gpu": "H10"}, "no GPU is called 'H10'; did you mean 'H100'?"),
        (Cluster, {"name": "64 H100", "gpu": {"name": "H100", "memry": 1}}, "did you mean 'memory'?"),
        (ModelShape, {"layers": 40}, "a model shape also needs hidden, heads"),
        (ModelShape, {"name": "405", "layers": 4}, "vocabulary; no model shape is called '405'; did you mean '405B'?"),
        (Gpu, {"name": "Z9", "peak": 1e15}, "a new GPU also needs year, memory, memory_bandwidth; no"),
    ],
)
def test_a_wrong_field_is_named(kind: type[Record], given: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match="(must|cannot|no|needs)") as refused:
        kind.of(given)
    assert says in str(refused.value)


def test_text_and_object_have_the_same_errors() -> None:
    for field, value in (("tensr", "2"), ("tensor", "8 GB"), ("zero_stage", "4"), ("data", "0")):
        with pytest.raises(ValueError, match=field) as written:
            Layout.read(f"{field}={value}")
        with pytest.raises(ValueError, match=field) as given:
            Layout.of({field: value})
        assert str(written.value) == str(given.value)


def test_fields_are_changed_behind_the_text_of_a_record() -> None:
    placed = Layout.read("tensor=2 data=4")
    assert Layout.read(f"{placed.text} tensor=8") == Layout(tensor=8, data=4)


def test_the_law_of_a_paper_is_known_by_what_many_call_it() -> None:
    printed = ScalingLaw.named("Hoffmann, as printed")
    assert ScalingLaw.read("Chinchilla") == ScalingLaw.read("hoffmann") == printed
    assert printed.text == "Hoffmann, as printed"


def test_the_name_of_a_gpu_stands_for_its_peak_and_its_memory() -> None:
    ridge = FORMULAS["throughput.ridge_intensity"]
    assert ridge.read({"peak": "h100", "bandwidth": "3.35 TB/s"})["peak"] == GPUS["H100"].peak
    assert FORMULAS["serving.critical_batch"].inputs["memory_bandwidth"].read("H200") == GPUS["H200"].memory_bandwidth
    with pytest.raises(ValueError, match="bandwidth: "):
        ridge.read({"peak": "989 TFLOP/s", "bandwidth": "H100"})


@each(
    ("text", "key_value_heads"),
    [("GPT-3 heads=64", 64), ("GPT-3 heads=64 key_value_heads=8", 8), ("Llama-3.1-70B heads=32", 8)],
)
def test_keys_and_values_follow_the_heads_where_each_head_had_its_own(text: str, key_value_heads: int) -> None:
    assert ModelShape.read(text).key_value_heads == key_value_heads


@each(
    ("known", "field", "refused", "taken"),
    [
        # A default of 0 is the least; without one, or above it, a number is above 0, and a count at least 1.
        (GPUS["T4"], "power", -1, 0), (GPUS["T4"], "peak", 0, 1e-9), (GPUS["T4"], "tensor_cores", -1, 0),
        (GPUS["T4"], "dies", 0, 1), (GPUS["T4"], "year", 2018.5, 2019), (GPUS["T4"], "memory_share", 1.01, 1),
        (LINKS["NVLink 4"], "bandwidth", 0, 1), (LINKS["NVLink 4"], "ramp", -1e-9, 0),
        (CLUSTERS["64 H100"], "gpu", "T4", GPUS["T4"]), (CLUSTERS["64 H100"], "intra_latency", -1e-9, 0),
        (CLUSTERS["64 H100"], "oversubscription", 0.99, 1), (CLUSTERS["64 H100"], "gpus_per_node", 5, 4),
        (CLUSTERS["64 H100"], "pod", -1, 0), (CLUSTERS["64 H100"], "inter_bandwidth", 0, 1),
        (Layout(), "tensor", 0, 1), (Layout(), "shard_ranks", -1, 0), (Layout(), "zero_stage", 4, 3),
        (Layout(), "sequence_parallel", 1, False), (Layout(), "recompute", "all", "full"),
        (MODELS["Llama-3.1-8B"], "layers", 0, 1), (MODELS["Llama-3.1-8B"], "positions", -1, 0),
        (MODELS["Qwen3-30B-A3B"], "feed_forward", -1, 0), (MODELS["Llama-3.1-8B"], "norm", "batch", "layer"),
        (RECIPES["mixed"], "weight_bytes", 0, 0.5), (RECIPES["mixed"], "gradient_bytes", -1, 0),
        (SHARES["of the presets"], "hidden_data", -0.5, -1), (SHARES["of the presets"], "hidden_data", 1.01, 1),
        (SHARES["of the presets"], "skew", -0.1, 0), (LAWS["Besiroglu"], "floor", -1, 0),
        (LAWS["Besiroglu"], "size_exponent", 1.01, 1), (STACKS["eager"], "adapter_rank", 0, 1),
        (STACKS["eager"], "loss", "small", "fused"), (STACKS["eager"], "compiled", True, "yes"),
    ],
)  # fmt: skip
def test_a_field_takes_what_its_annotation_says_and_no_less(
    known: Record, field: str, refused: object, taken: object
) -> None:
    with pytest.raises(ValueError, match=f"^{field} must "):
        replace(known, **{field: refused})
    assert getattr(replace(known, **{field: taken}), field) == taken

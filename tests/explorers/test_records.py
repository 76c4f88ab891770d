"""The layout explorer in the state of a given model, cluster and layout."""

from dataclasses import replace

from app.core.formulas.layout import step_time
from app.core.formulas.presets import Cluster, Layout, ModelShape
from app.course.explorers.base import Values
from app.course.explorers.controls import read_controls
from app.course.explorers.placements import placement
from app.course.explorers.run_fit import FIT
from app.course.explorers.states import state_of_records
from tests.each import each

SHOWN = [
    ("Llama-3.1-8B", "DGX-H100 gpus=8", "data=8 zero_stage=3"),
    ("Llama-3.1-8B", "64 H100", "tensor=8 data=8 precision=8-bit micro_batch=2 recompute=full"),
    ("Mixtral-8x7B", "DGX-H100 gpus=16", "tensor=2 expert=8 data=8 microbatches=4"),
    ("Megatron-LM 22B", "Megatron 3072 A100 gpus=8", "tensor=8 sequence=2048 microbatches=4"),
    ("DeepSeek-V3", "DGX-GB200 gpus=144", "pipeline=4 expert=4 data=36 microbatches=8"),
    (
        "Llama-3.1-405B",
        "One node of 8 H100 gpus=1024",
        "tensor=8 pipeline=8 context=2 data=8 virtual=2 microbatches=16 context_by=all-gather",
    ),
]


@each("given", SHOWN)
def test_the_explorer_shows_the_very_step(given: tuple[str, str, str]) -> None:
    model, cluster, layout = (
        kind.read(text)  # type: ignore[attr-defined]
        for kind, text in zip((ModelShape, Cluster, Layout), given, strict=True)
    )
    found = state_of_records(model, cluster, layout)
    assert found is not None
    assert found.differs == ()
    values, corrections = read_controls(FIT.controls, found.state)
    assert corrections == ()
    placed = placement(Values(values))
    assert placed.notice == ""
    there = step_time(placed.model, placed.cluster, placed.layout)
    assert there == step_time(model, replace(cluster, gpus=layout.gpus), layout)


def test_what_it_cannot_show_is_said() -> None:
    model, cluster = ModelShape.read("Llama-3.1-8B"), Cluster.read("64 H100 inter_latency=9us")
    found = state_of_records(model, cluster, Layout.read("tensor=8 data=8 sequence_parallel=no"))
    assert found is not None
    assert found.differs == ("inter latency 5e-06, not 9e-06", "sequence parallel True, not False")
    wide = Layout.read("data=64 sequence=262144")
    many = state_of_records(model, cluster, wide)
    assert many is not None
    assert "131072" in many.differs[0]
    assert state_of_records(replace(model, layers=31), cluster, wide) is None
    assert state_of_records(model, Cluster.read("64 H100 gpu=K40"), wide) is None

"""Published steps with their whole layouts, as records: what a prediction is held against."""

from collections.abc import Iterator
from typing import NamedTuple

from app.core.formulas.parallelism import PLAIN
from app.core.formulas.presets import LAYOUTS, Cluster, Layout, ModelShape, Shares, model
from app.core.formulas.presets.layouts import Precision
from app.core.formulas.step.speeds import Side, speeds_of
from app.core.formulas.step.step import step_parts
from app.core.formulas.transformer import active_parameters, token_flops
from tests.tables import Row, rows


class Run(NamedTuple):
    """A run and its measured seconds."""

    name: str
    model: ModelShape
    cluster: Cluster
    layout: Layout
    measured: float
    precision: Precision = "16-bit"
    shares: Shares = Shares()

    def predicted(self, side: Side = "middle") -> float:
        """Seconds of the step by the core."""
        speeds = speeds_of(self.model, self.cluster, self.shares, self.precision, side)
        return sum(step_parts(self.model, speeds, self.layout.degrees(), PLAIN))

    @property
    def error(self) -> float:
        """The prediction, relative to the measurement."""
        return self.predicted() / self.measured - 1


def gpt(row: Row) -> ModelShape:
    """A GPT of Megatron's papers."""
    hidden, heads = row.count("hidden"), row.count("heads")
    return ModelShape(
        name="GPT", layers=row.count("layers"), hidden=hidden, heads=heads,
        key_value_heads=heads, head_size=hidden // heads, feed_forward=4 * hidden,
        vocabulary=51_200, gated=False, tied=True, biases="all", norm="layer", positions=2048,
    )  # fmt: skip


def selene(gpus: int) -> Cluster:
    """The machine of Megatron's papers."""
    return Cluster.read(f"Megatron 3072 A100 gpus={gpus}")


def sc21() -> Iterator[Run]:
    """The ten runs of 2021, all layers computed again; the time follows from their FLOP/s."""
    for row, more in zip(rows("megatron_sc21_table1"), rows("megatron_sc21_layouts"), strict=True):
        assert row.text("params") == more.text("params")
        shape, gpus, batch = gpt(row), row.count("gpus"), row.count("batch")
        h, deep = shape.hidden, shape.layers
        flops = 96 * batch * 2048 * deep * h * h * (1 + 2048 / (6 * h) + 51_200 / (16 * deep * h))
        tensor, stages, micro = row.count("tp"), row.count("pp"), more.count("micro_batch")
        data, chunk = gpus // tensor // stages, more.count("layers_per_chunk")
        layout = Layout(
            tensor=tensor, pipeline=stages, data=data, microbatches=batch // data // micro,
            micro_batch=micro, virtual=deep // stages // chunk if chunk else 1, sequence=2048,
            recompute="full", sequence_parallel=False, zero_stage=0,
        )  # fmt: skip
        took = flops / (row.number("tflops_per_gpu") * 1e12 * gpus)
        yield Run(f"SC21 {row.text('params')}", shape, selene(gpus), layout, took)


def korthikanti() -> Iterator[Run]:
    """The eight runs of 2022: four models, once with all layers computed again and once not."""
    for row in rows("korthikanti_table3_5"):
        name, micro, batch = row.text("model"), row.count("micro_batch"), row.count("global_batch")
        layout = Layout(
            tensor=8, pipeline=row.count("pp"), microbatches=batch // micro, micro_batch=micro,
            virtual=3 if name in ("175B", "530B") else 1, sequence=2048, zero_stage=0,
        )  # fmt: skip
        again = Layout.read(f"{layout.text} recompute=full sequence_parallel=no")
        where = selene(row.count("gpus"))
        yield Run(name, gpt(row), where, layout, row.number("iter_present"))
        yield Run(f"{name} full", gpt(row), where, again, row.number("iter_full_recompute"))


def llama_3() -> Iterator[Run]:
    """Llama 3 405B by the FLOP/s of its table 4."""
    shape = model("Llama-3.1-405B")
    for row, name in zip(rows("llama3_table4"), list(LAYOUTS)[:3], strict=True):
        layout = LAYOUTS[name]
        assert layout.gpus == row.count("gpus")
        each = token_flops(
            active_parameters(shape), 126, 128, 128, layout.sequence, causal=True
        )  # fmt: skip
        took = each * layout.tokens / layout.gpus / (1e12 * row.number("tflops_per_gpu"))
        where = Cluster.read(f"Meta 24K H100 gpus={layout.gpus}")
        yield Run(name, shape, where, layout, took)


def torchtitan() -> Iterator[Run]:
    """Llama 3.1 8B with FSDP, with and without torch.compile; 70B with tensor parallelism."""
    machine = "H100 96GB HBM2e 500 W"
    for row in rows("torchtitan_llama3_h100"):
        if row.count("table") not in (1, 3) or "float8" in row.text("config"):
            continue
        gpus = row.count("gpus")
        layout = Layout(data=gpus, micro_batch=2, zero_stage=3, recompute="operations")
        took = 2 * 8192 / row.number("tps_per_gpu")
        name = f"torchtitan {gpus} {row.text('config')}"
        where = Cluster.read(f"{machine} gpus={gpus}")
        yield Run(name, model("Llama-3.1-8B"), where, layout, took)
    for row in rows("torchtitan_async_tp"):
        layout = Layout(data=32, tensor=8, micro_batch=16, zero_stage=3, recompute="full")
        kind = row.text("tensor_parallelism")
        hidden = Shares(hidden_tensor=1.0 if kind == "async" else 0.0)
        took = 16 * 8192 / 8 / row.number("tps_per_gpu")
        where = Cluster.read(f"{machine} gpus=256")
        name = f"torchtitan 70B {kind}"
        yield Run(name, model("Llama-3.1-70B"), where, layout, took, "16-bit", hidden)


def megatron_bridge() -> Iterator[Run]:
    """Dense models and mixtures of experts in 8 and 4 bits."""
    for row in rows("megatron_bridge"):
        gpus, micro = row.count("gpus"), row.count("micro_batch")
        tensor, stages, context = (row.count(name) for name in ("tensor", "pipeline", "context"))
        data = gpus // tensor // stages // context
        layout = Layout(
            tensor=tensor, pipeline=stages, context=context, data=data, micro_batch=micro,
            virtual=row.count("virtual"), expert=row.count("expert"),
            microbatches=row.count("batch") // data // micro, sequence=row.count("sequence"),
            recompute="none",
        )  # fmt: skip
        took = layout.tokens / gpus / row.number("tps_per_gpu")
        precision: Precision = "4-bit" if row.text("precision") == "4-bit" else "8-bit"
        where = Cluster.read(f"{row.text('system')} gpus={gpus}")
        name = f"{row.text('release')} {row.text('model')} {row.text('system')}"
        yield Run(name, model(row.text("model")), where, layout, took, precision)

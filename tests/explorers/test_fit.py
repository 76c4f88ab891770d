"""Will my run fit: held against what was published, and against a search of its own."""

import itertools
import re
from dataclasses import replace

import pytest

from app.core.formulas.layout import fits, step_time, total_step_time
from app.core.formulas.memory import memory_budget
from app.core.formulas.presets import GPUS, Layout, ModelShape
from app.core.units import SECOND
from app.course.explorers import EXPLORERS
from app.course.explorers.base import ExplorerOutput, KeyFigure, Values, describe_change, with_ghosts
from app.course.explorers.controls import address_text, read_controls
from app.course.explorers.projection import MOST, project_run
from app.course.explorers.published_runs import DEEPSEEK, LLAMA, RUNS, ExplorableRun
from app.course.explorers.run_fit import FIT, layout_words
from tests.each import each
from tests.explorers.test_explorers import explored, facts

HOUR = 3600.0
EIGHT = {
    **{"model": "Llama-3-8B", "gpu": "H100", "gpus": "8", "network": "50", "tensor": "1", "pipeline": "1"},
    **{"virtual": "1", "context": "1", "stage": "3", "batch": "64", "tokens": "0.16"},
}
LLAMA_SHAPE = ModelShape.named("Llama-3.1-405B")


def exactly(shown: ExplorerOutput) -> dict[str, float]:
    return {fact.label: fact.exact for fact in shown.facts if fact.exact is not None}


def test_llama_as_trained_comes_near_its_published_numbers() -> None:
    shown = explored("fit", **LLAMA.state)
    told = exactly(shown)
    # arXiv:2407.21783, table 4: 41 % MFU. The projection knows of no skew, so it is a little faster.
    assert 0.41 < told["MFU"] < 1.1 * 0.41
    # The model card's 30.84 million GPU-hours may include interruptions and other stages.
    assert 0.8 * 30.84e6 < told["GPU-hours"] < 30.84e6
    assert shown.verdict
    assert shown.verdict.good
    says = {fact.label: fact.beside for fact in shown.facts}
    assert says["MFU"] == "published: 41 %"
    assert says["GPU-hours"] == "published: 30,840,000"


def test_the_bill_is_that_of_the_length() -> None:
    told = exactly(explored("fit", price="3"))
    assert told["GPU-hours"] == pytest.approx(16384 * told["length of the run"] / HOUR)
    assert told["rent"] == pytest.approx(3 * told["GPU-hours"])
    assert told["energy of the GPUs"] == pytest.approx(700 * HOUR * told["GPU-hours"])
    steps = 15.6e12 / (2048 * 8192)
    assert told["length of the run"] == pytest.approx(steps * told["step"])
    # 6 N D and the scores that a causal mask leaves, 4.2 % (Llama 3 405B at 8,192 tokens).
    model = 6 * 405.85e9 * 15.6e12 * 1.042 / (16384 * 989e12 * told["length of the run"])
    assert told["MFU"] == pytest.approx(model, rel=2e-3)


def test_the_published_step_is_drawn_beside_the_projected_one() -> None:
    table = explored("fit").figures[1].table
    (took,) = (size for bar, part, size in table if bar == "published")
    # 41 % instead of 42.5 %: as many times longer.
    assert took == "6.406 s"
    assert not [row for row in explored("fit", virtual="4").figures[1].table if row[0] == "published"]


def test_what_is_outside_of_the_formulas_says_so() -> None:
    shown = explored("fit", **DEEPSEEK.state)
    assert shown.verdict
    assert shown.verdict.says == "It ran, but these formulas say that it does not fit."
    assert "This run is outside the model" in shown.says
    assert "a step of 19.91 s" in shown.says
    took = 180e3 * HOUR * 128 * 120 * 4096 / 1e12 / 2048
    assert took == pytest.approx(19.91, rel=1e-3)
    assert "off by 0.73 % to 51 %" in shown.says


@each("paper", RUNS, ids=lambda paper: paper.name)
def test_a_published_run_leads_to_itself(paper: ExplorableRun) -> None:
    values, corrections = read_controls(FIT.controls, paper.state)
    assert corrections == ()
    shown = FIT.explore(Values(values))
    assert shown.notice == ""
    assert paper.name in shown.says
    assert exactly(shown)["step"] == pytest.approx(paper.projected.times.total)


def test_another_layout_on_the_same_gpus_is_held_against_the_published_one() -> None:
    assert "Llama 3 405B on 16,384 H100s reports 41 % MFU" in explored("fit", stage="1").says
    machine = {"gpu": "H100 96GB HBM2e 500 W"}
    eight = explored("fit", **EIGHT | machine).says
    assert "(torchtitan) reports 6,667 tokens per second and GPU" in eight
    assert "gets 6,475 (−2.9 %)" in eight
    assert "Published" not in explored("fit", gpus="4096", virtual="1").says


def test_the_shares_are_those_of_the_formula() -> None:
    placed = LLAMA.projected.placed
    shape = placed.model, placed.cluster, placed.layout
    assert project_run(placed, 1).times == step_time(*shape)
    assert facts("fit", product="66") == facts("fit", product="0") == facts("fit")
    # Products at the full peak take less; nothing takes more than the peak.
    fastest = explored("fit", gpus="1", model="Llama-3-8B", product="100")
    assert exactly(explored("fit", gpus="1", model="Llama-3-8B"))["MFU"] < exactly(fastest)["MFU"]
    assert exactly(fastest)["MFU"] <= 1


ENDS = {"tensor": 32, "pipeline": 64, "virtual": 64, "context": 32, "gpus": 32768, "micro": 64}
STATES: tuple[dict[str, str], ...] = (
    {},
    {"stage": "1", "pipeline": "8"},
    {"virtual": "1"},
    {"gpus": "8192"},
    {"recompute": "full", "tensor": "4", "batch": "4096"},
    {"model": "Llama-3-8B", "gpus": "64", "tensor": "2", "pipeline": "2", "virtual": "1"},
)


@each("state", STATES, ids=str)
def test_neighbors_are_legal_one_step_away_and_the_best_there_are(state: dict[str, str]) -> None:
    here = explored("fit", **state)
    table = here.tables[0]
    assert here.notice == ""
    found = []
    for row in table.rows:
        there = explored("fit", **row.state)
        assert there.notice == ""  # it exists as it is written
        changed = [c.name for c in FIT.controls if row.state[c.name] != written(state)[c.name]]
        assert len(changed) == 1
        found.append(there)
    hours = [exactly(there)["GPU-hours"] for there in found]
    assert all(there.verdict and there.verdict.good for there in found)
    assert hours == sorted(hours)
    assert hours == pytest.approx(sorted(searched(state))[:MOST], rel=1e-9)
    assert here.verdict
    if here.verdict.good:
        gain = hours and hours[0] < 0.995 * exactly(here)["GPU-hours"]
        assert ("No single change that fits" in table.says) != bool(gain)
    else:
        assert "make it fit" in table.says


def written(state: dict[str, str]) -> dict[str, str]:
    values, _ = read_controls(FIT.controls, state)
    return {control.name: address_text(control, values[control.name]) for control in FIT.controls}


def searched(state: dict[str, str]) -> list[float]:
    """GPU-hours of every layout that fits and differs in one way, found from the formulas alone."""
    v = Values(read_controls(FIT.controls, state)[0])
    shape = ModelShape.named(v.word("model"))
    at = {name: v.count(name) for name in ENDS}
    tries: list[tuple[dict[str, int], int, str]] = [
        ({**at, name: value}, int(v.word("stage")), v.word("recompute"))
        for name, degree in at.items()
        for value in (degree * 2, degree // 2)
        if value and value <= ENDS[name]
    ]
    stage, again = int(v.word("stage")), v.word("recompute")
    tries += [(at, near, again) for near in (stage - 1, stage + 1) if 0 <= near <= 3]
    kinds = ("none", "selective", "operations", "full")
    near = [kind for at_, kind in enumerate(kinds) if abs(at_ - kinds.index(again)) == 1]
    # With fused attention, none is the same as selective.
    tries += [(at, stage, kind) for kind in near if {kind, again} != {"none", "selective"}]
    return list(itertools.chain.from_iterable(_hours(shape, v, *one) for one in tries))


def _hours(shape: ModelShape, v: Values, at: dict[str, int], stage: int, recompute: str) -> list[float]:
    cluster = LLAMA.projected.placed.cluster
    copy = at["tensor"] * at["pipeline"] * at["context"]
    if at["gpus"] % copy or v.count("batch") % (at["gpus"] // copy * at["micro"]):
        return []
    data = at["gpus"] // copy
    try:
        layout = Layout(
            tensor=at["tensor"],
            pipeline=at["pipeline"],
            data=data,
            virtual=at["virtual"],
            context=at["context"],
            microbatches=v.count("batch") // data // at["micro"],
            micro_batch=at["micro"],
            sequence=v.count("sequence"),
            context_by="all-gather",
        )
        layout = Layout.read(f"{layout.text} zero_stage={stage} recompute={recompute}")
        machine = replace(cluster, gpus=at["gpus"], rack=0, pod=0, intra_bandwidth=450e9)
        if not fits(shape, machine, layout):
            return []
        step = total_step_time(shape, machine, layout)
    except ValueError:
        return []
    return [v.number("tokens") / layout.tokens * step * at["gpus"] / HOUR]


def test_where_nothing_fits_the_neighbors_save_memory() -> None:
    here = explored("fit", gpus="1", tensor="1", pipeline="1", virtual="1")
    assert "No single change makes it fit" in here.tables[0].says
    memory = exactly(here)["memory per GPU"]
    saved = [exactly(explored("fit", **row.state))["memory per GPU"] for row in here.tables[0].rows]
    assert saved == sorted(saved)
    assert saved[-1] < memory
    assert memory == memory_budget(LLAMA_SHAPE, Layout(microbatches=2048, zero_stage=2)).total
    assert GPUS["H100"].memory < saved[0]


def test_a_broken_rule_is_told_and_the_nearest_legal_state_is_shown() -> None:
    shown = explored("fit", tensor="3", micro="7")
    assert "3 · 16 · 1 = 48 GPUs, which do not divide 16,384." in shown.notice
    assert "Shown with tensor parallelism 4" in shown.notice
    assert shown.figures
    shown = explored("fit", micro="32")
    assert "128 data-parallel ranks in micro-batches of 32" in shown.notice


def test_a_limit_is_named() -> None:
    assert facts("fit")["limited by"].startswith("compute, ")
    assert facts("fit", tensor="16", pipeline="8", stage="3")["limited by"].startswith("communication, ")
    assert facts("fit", stage="1", pipeline="8")["limited by"] == "memory"
    few = facts("fit", virtual="1", batch="128", gpus="16384")
    assert few["limited by"].startswith("the pipeline bubble, ")


def test_a_number_is_compared_with_the_one_before() -> None:
    now, before = explored("fit", stage="3"), explored("fit")
    changes = {fact.label: describe_change(fact, before) for fact in now.facts}
    assert changes["step"] == ("6.172 s", "+68 %")
    assert changes["MFU"] == ("42.5 %", "−17 points")
    assert changes["limited by"] == ("compute, 72.7 %", "")
    assert describe_change(KeyFigure("step", "1 s", 1.0, SECOND), before)[1] == "−84 %"
    assert describe_change(before.facts[0], before) == ("", "")
    bars = with_ghosts(now, before)
    assert [row[0] for row in bars[0].table if row[1] == "total"] == ["memory", "before"]
    assert with_ghosts(before, before) == before.figures
    assert with_ghosts(explored("roofline"), explored("roofline"))


def test_the_trust_table_says_how_far_off_each_published_number_is() -> None:
    rows = {(row.name, row.cells[0]): row.cells for row in explored("fit").tables[1].rows}
    label, published, here, off, source = rows["Llama 3 405B on 16,384 H100s", "GPU-hours"]
    assert (label, published, here, off) == ("GPU-hours", "30,840,000", "26,120,000", "−15 %")
    assert "model card" in source
    assert rows["DeepSeek-V3 on 2,048 H800s", "GPU-hours"][3] == "+51 %"
    assert len(rows) >= 8
    assert EXPLORERS["fit"] is FIT


def test_a_step_has_a_range_around_it_and_a_tight_fit_is_said() -> None:
    tight, roomy = explored("fit").verdict, explored("fit", **EIGHT).verdict
    assert tight
    assert roomy
    assert (tight.good, tight.title) == (True, "Yes: 3.07 GB to spare.")
    assert tight.says.endswith(" That is tight: an allocator may hold 5 % more than it hands out.")
    assert roomy.good
    assert "tight" not in roomy.says
    for verdict in (tight, roomy):
        found = re.match(r"([\d.]+) s \(([\d.]+) s to ([\d.]+) s\) a step, ", verdict.says)
        assert found
        step, low, high = map(float, found.groups())
        assert low <= step < high


def test_what_does_not_fit_is_said_with_a_machine_on_which_it_does() -> None:
    verdict = explored("fit", **{**EIGHT, "stage": "1"}).verdict
    assert verdict
    assert (verdict.good, verdict.title) == (False, "No: 20.6 GB more than the 80 GB of a GPU.")
    assert verdict.says.replace("\xa0", " ") == "It fits on 16 of them: data 16, ZeRO 3, full recomputation."
    assert facts("fit", **{**EIGHT, "stage": "1"})["limited by"] == "memory"
    ran = explored("fit", gpus="8192").verdict
    assert ran
    assert ran.says == "It ran, but these formulas say that it does not fit."


@each(
    ("layout", "words"),
    [
        (Layout(), "one GPU"),
        (Layout(tensor=8), "tensor 8"),
        (Layout(data=4, zero_stage=1), "data 4, ZeRO 1"),
        (Layout(tensor=2, pipeline=4, context=8, data=16), "tensor 2 × pipeline 4 × context 8 × data 16, ZeRO 1"),
        (Layout(pipeline=4, virtual=2, microbatches=4), "pipeline 4, 2 pipeline chunks"),
        (Layout(micro_batch=2), "one GPU, micro-batches of 2"),
        (Layout(recompute="full"), "one GPU, full recomputation"),
        (Layout(recompute="operations"), "one GPU, recomputation of operations"),
        (Layout(recompute="selective"), "one GPU"),
    ],
)
def test_a_layout_is_said_by_what_is_not_1(layout: Layout, words: str) -> None:
    assert layout_words(layout).replace("\xa0", " ") == words

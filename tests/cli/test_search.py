"""`wallclock search`: a table for people, JSON for programs, and errors that say what is right."""

import json

import pytest

from app.__main__ import main
from app.core.formulas.layout import fits, step_time
from app.core.formulas.presets import Cluster, Layout, ModelShape, Recipe, Shares
from tests.each import each

Capture = pytest.CaptureFixture[str]
MODEL, CLUSTER = "Mixtral layers=8", "64 H100 gpus=8"
SMALL = ["search", "--model", MODEL, "--cluster", CLUSTER, "--batch", "16", "--sequence", "4096"]


def test_a_search_as_json_is_what_the_formulas_say(capsys: Capture) -> None:
    given = ["--json", "--top", "5", "--recipe", "FSDP2", "--shares", "product=0.5"]
    assert main([*SMALL, *given, "--fix", "zero_stage=3", "--fix", "expert_tensor=1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == {"layouts", "seconds", "fit", "rejected", "top", "front"}
    assert found["layouts"] == found["fit"] + sum(found["rejected"].values())
    assert found["seconds"] > 0
    assert len(found["top"]) == 5
    model, cluster = ModelShape.read(MODEL), Cluster.read(CLUSTER)
    recipe, shares = Recipe.named("FSDP2"), Shares(product=0.5)
    for one in (*found["top"], *found["front"]):
        assert one.keys() == {"layout", "step_time", "memory", "mfu", "limits"}
        layout = Layout(**one["layout"])
        assert (layout.zero_stage, layout.expert_tensor) == (3, 1)
        assert fits(model, cluster, layout, recipe)
        total = step_time(model, cluster, layout, shares, recipe).total
        assert one["step_time"] == pytest.approx(total, rel=1e-12)
    times = [one["step_time"] for one in found["front"]]
    needs = [one["memory"] for one in found["front"]]
    assert times == sorted(times, reverse=True)
    assert needs == sorted(needs)


def test_a_search_for_people_says_what_fits_and_why_not(capsys: Capture) -> None:
    assert main([*SMALL, "--top", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Mixtral-8x7B on 8 H100 SXM: 16 sequences of 4,096 tokens per step"
    assert any(line.endswith("rejected: memory") for line in lines)
    at = lines.index("Fastest")
    assert lines[at + 1].split()[:4] == ["step", "MFU", "memory", "tensor"]
    assert lines[at + 5] == ""
    assert lines[at + 6] == "Less memory for more time"
    assert "compute" in lines[at + 2]


def test_where_nothing_fits_the_smallest_is_shown(capsys: Capture) -> None:
    small = ["search", "--model", "405B", "--cluster", "64 H100 gpus=8", "--batch", "8"]
    assert main([*small, "--fix", "recompute=full"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "None fits in 80 GB. This one needs the least memory:" in lines


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--model", "Mixtrl"], "--model: no model shape is called 'Mixtrl'; did you mean"),
        (["--cluster", "65 H1000"], "--cluster: no GPU is called 'H1000'; did you mean 'H100'"),
        (["--recipe", "FSDP3"], "--recipe: no recipe is called 'FSDP3'; did you mean 'FSDP2'"),
        (["--shares", "product=2"], "--shares: product must be at most 1"),
        (["--fix", "tensr=8"], "--fix: 'tensr' is not a field that can be fixed; did you mean"),
        (["--fix", "tensor=3"], "tensor is fixed at 3, which does not divide the 8 GPUs"),
        (["--batch", "0"], "batch must be at least 1"),
        (["--top", "0"], "--top must be from 1 to 1000"),
        (["--sequence", "-1"], "sequence must be at least 1"),
        (
            ["--cluster", "64 H100 gpus=720720", "--batch", "720720"],
            "layouts, and a search takes at most 100,000,000; fix some of tensor, pipeline",
        ),
    ],
)
def test_what_cannot_be_searched_is_refused(given: list[str], says: str, capsys: Capture) -> None:
    assert main([*SMALL, *given]) == 1
    assert says in capsys.readouterr().err


@each(("top", "is_taken"), [("1", True), ("1000", True), ("1001", False), ("-1", False)])
def test_from_one_to_a_thousand_layouts_are_listed(top: str, is_taken: bool, capsys: Capture) -> None:
    assert main([*SMALL, "--top", top, "--json"]) == (not is_taken)
    found = capsys.readouterr()
    assert ("--top must be from 1 to 1000" in found.err) is not is_taken
    assert not is_taken or len(json.loads(found.out)["top"]) <= int(top)

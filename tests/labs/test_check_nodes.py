"""`wallclock lab check --nodes`: each node alone, side by side, with an exit code for each."""

import json
import os
import random
from pathlib import Path

import pytest

from app.__main__ import main
from app.commands.lab_check import (
    NodeCheck,
    compare_nodes,
    confirm_nodes,
    node_remarks,
    node_rows,
    nodes_as_json,
    read_node_check,
)
from app.labs.check.world import CheckFinding, CheckReport, CheckStep, CheckVerdict
from tests.each import each

H100, A100 = "8 × NVIDIA H100 80GB HBM3", "4 × NVIDIA A100-SXM4-80GB"
RATE, COPY = "BF16, n = 8192", "copy of 4GiB"
Output = pytest.CaptureFixture[str]
_PYTHON = """\
#!/bin/sh
echo "$@" > '{folder}'/arguments
echo "$WALLCLOCK_LAB_LAUNCHER $SLURM_JOB_NUM_NODES $SLURM_JOB_NODELIST" > '{folder}'/$SLURM_JOB_NODELIST
if [ "$SLURM_JOB_NODELIST" = one ]; then echo "no module named app" >&2; exit 1; fi
cat '{folder}'/report
exit 1
"""


def finding(name: str, value: float, unit: str) -> CheckFinding:
    return CheckFinding(name, CheckVerdict.PASSED, "as it is", value=value, unit=unit)


def checked(
    node: str, rate: float, copy: float = 2.9e12, gpus: str = H100, worst: CheckVerdict = CheckVerdict.PASSED
) -> NodeCheck:
    """A node whose step 2 ends with the verdict *worst*, and its two numbers."""
    steps = (
        CheckStep(1, "Driver and GPUs", (CheckFinding.passed("host", node), CheckFinding.passed("GPUs", gpus)), 1.0),
        CheckStep(2, "GPUs as torch sees them", (CheckFinding("ECC", worst, "3", "0"),), 1.0),
        CheckStep(8, "Matrix products", (finding(RATE, rate, "TFLOP/s"),), 1.0),
        CheckStep(9, "Copies", (finding(COPY, copy, "TB/s"),), 1.0),
    )
    return NodeCheck(node, CheckReport("2026-01-01", node, "wallclock lab check", steps))


def rated(*rates: float, gpus: str = H100) -> list[NodeCheck]:
    return [checked(f"{gpus[4:15]}{n}", rate, gpus=gpus) for n, rate in enumerate(rates)]


@each(
    ("rates", "off"),
    [
        ((700e12, 710e12, 690e12, 680e12), []),
        ((700e12, 700e12, 700e12, 657e12), [-0.0614]),
        ((700e12, 700e12, 700e12, 659e12), []),
        ((700e12, 700e12, 700e12, 800e12), []),  # faster is no fault
        ((700e12, 720e12, 680e12, 740e12, 640e12), []),  # where all differ, more is usual
        ((700e12, 300e12), []),  # which one is off, nobody knows
        ((700e12, 300e12, 705e12), [-0.571]),
    ],
)
def test_a_node_is_off_when_it_is_slower_than_its_like_by_more_than_is_usual(
    rates: tuple[float, ...], off: list[float]
) -> None:
    found = compare_nodes(rated(*rates)).outliers
    assert [one.share for one in found] == pytest.approx(off, abs=1e-3)
    assert all(one.name == RATE for one in found)


@each(("name", "unit", "slow"), [("copy", "TB/s", 0.96), ("time of 8KiB", "us", 1.3), ("bus bandwidth", "GB/s", 0.96)])
def test_each_kind_of_number_has_its_direction_and_its_limit(name: str, unit: str, slow: float) -> None:
    def off(share: float, name: str = name) -> int:
        values = (1.0, 1.0, 1.0, share)
        nodes = [of_numbers(f"n{n}", [finding(name, value, unit)]) for n, value in enumerate(values)]
        return len(compare_nodes(nodes).outliers)

    assert (off(slow), off(2 - slow)) == (1, 0)
    assert off(1 + (slow - 1) / 2) == 0
    assert off(slow, "time of 8KiB with its launch") == 0


def of_numbers(node: str, found: list[CheckFinding]) -> NodeCheck:
    steps = (
        CheckStep(1, "Driver and GPUs", (CheckFinding.passed("GPUs", H100),), 1.0),
        CheckStep(8, "Numbers", tuple(found), 1.0),
    )
    return NodeCheck(node, CheckReport("2026-01-01", node, "wallclock lab check", steps))


# Standard deviations among healthy nodes, as public studies have them, and how a slower one shows.
SPREADS = {
    ("time of 8KiB", "us"): 0.03,
    ("time of 8KiB with its launch", "us"): 0.05,
    ("BF16", "TFLOP/s"): 0.015,
    ("TF32", "TFLOP/s"): 0.015,
    ("FP32", "TFLOP/s"): 0.015,
    ("copy", "TB/s"): 0.005,
    ("bus bandwidth", "GB/s"): 0.005,
    ("flash, times faster", ""): 0.01,
}


def fleet(chance: random.Random, slow: str = "") -> list[NodeCheck]:
    """64 nodes, of which the last is 10 % slower in the numbers called *slow*."""
    nodes = []
    for node in range(64):
        found = []
        for (name, unit), spread in SPREADS.items():
            share = chance.gauss(1.0, spread)
            is_slow = node == 63 and bool(slow) and slow in (name, unit)
            found.append(finding(name, share * (0.9 if is_slow else 1.0), unit))
        nodes.append(of_numbers(f"n{node}", found))
    return nodes


def test_healthy_fleets_are_not_accused_and_a_slow_node_is_found() -> None:
    """Though a second check, which clears most of the others, finds the same here: nodes are what they are."""
    chance = random.Random(7)
    healthy = [compare_nodes(fleet(chance)) for _ in range(100)]
    assert sum(not one.outliers for one in healthy) >= 95
    for slow in ("TFLOP/s", "copy", "bus bandwidth"):
        found = [compare_nodes(fleet(chance, slow)) for _ in range(100)]
        assert sum("n63" in {off.node for off in one.outliers} for one in found) >= 99


def test_a_node_is_off_only_if_it_is_so_twice() -> None:
    first = compare_nodes(rated(700e12, 700e12, 600e12, 600e12))
    assert len(first.outliers) == 0  # half of them: the median is in between
    first = compare_nodes(rated(700e12, 700e12, 700e12, 700e12, 600e12, 600e12))
    *_, well, still = rated(700e12, 700e12, 700e12, 700e12, 699e12, 610e12)
    found = confirm_nodes(first, [well, still])
    assert [(one.node, one.value) for one in found.outliers] == [(still.node, 610e12)]
    assert [found.health(one) for one in found.checks] == [0, 0, 0, 0, 0, 3]


def test_nodes_are_compared_with_those_that_have_the_same_gpus() -> None:
    nodes = [*rated(700e12, 700e12, 700e12), *rated(280e12, 280e12, 280e12, gpus=A100)]
    assert compare_nodes(nodes).outliers == ()


def test_each_node_has_an_exit_code_and_the_worst_is_that_of_all() -> None:
    well = [checked(name, 700e12) for name in ("a", "b", "c")]
    slow = checked("d", 700e12, copy=2.5e12)
    odd = checked("e", 700e12, worst=CheckVerdict.ODD)
    failed = checked("f", 700e12, worst=CheckVerdict.FAILED)
    silent = NodeCheck("g", None, "its job is timeout")
    found = compare_nodes([*well, slow, odd, failed, silent])
    assert [found.health(one) for one in found.checks] == [0, 0, 0, 3, 0, 1, 1]
    assert found.worst == 1
    assert compare_nodes([*well, slow]).worst == 3
    assert compare_nodes(well).worst == 0


def test_the_table_has_a_row_per_node_and_marks_what_is_off() -> None:
    nodes = [checked(name, 700e12) for name in ("a", "b")]
    nodes += [checked("c", 600e12, worst=CheckVerdict.FAILED), NodeCheck("d", None, "it is down")]
    found = compare_nodes(nodes)
    assert node_rows(found) == [
        ["node", "exit", "1", "2", "8", "9", RATE, COPY],
        ["a", "0", "ok", "ok", "ok", "ok", "700 TFLOP/s", "2.9 TB/s"],
        ["b", "0", "ok", "ok", "ok", "ok", "700 TFLOP/s", "2.9 TB/s"],
        ["c", "1", "ok", "FAIL", "ok", "ok", "600 TFLOP/s (-14.3%)", "2.9 TB/s"],
        ["d", "1", "", "", "", "", "", ""],
    ]
    assert list(node_remarks(found)) == [
        "c: failed: ECC: 3; expected: 0",
        f"c: {RATE}: 600 TFLOP/s, 14.3% below the median of 700 TFLOP/s",
        "d: not checked: it is down",
    ]


def test_programs_get_the_exit_codes_the_reports_and_what_is_off() -> None:
    nodes = [*rated(700e12, 700e12, 600e12), NodeCheck("d", None, "it is down")]
    found = json.loads(nodes_as_json(compare_nodes(nodes), "wallclock lab check --nodes all"))
    assert found["exit_code"] == 1
    assert [one["exit_code"] for one in found["nodes"]] == [0, 0, 3, 1]
    assert found["nodes"][3] == {"node": "d", "exit_code": 1, "trouble": "it is down", "report": None}
    assert found["nodes"][0]["report"]["steps"][1]["verdict"] == "passed"
    (off,) = found["outliers"]
    assert (off["value"], off["median"], off["unit"]) == (600e12, 700e12, "TFLOP/s")


def test_a_report_is_read_as_it_was_printed_and_half_of_one_is_none() -> None:
    one = checked("a", 700e12)
    assert one.report
    text = one.report.as_json()
    assert read_node_check("a", text, "") == one
    assert read_node_check("a", text[:-9], "it stopped") == NodeCheck("a", None, "it stopped")


@each(
    ("launcher", "options", "says"),
    [
        ("local", [], "set WALLCLOCK_LAB_LAUNCHER=slurm"),
        ("slurm", ["--record", "runs.jsonl"], "--record is for one machine"),
    ],
)
def test_nodes_are_those_of_slurm_and_give_no_recordings(
    launcher: str, options: list[str], says: str, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setenv("WALLCLOCK_LAB_LAUNCHER", launcher)
    assert main(["lab", "check", "--nodes", "all", *options]) == 1
    assert says in capsys.readouterr().err


@pytest.fixture
def on_slurm(cluster: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings of a cluster, whose runs are in this folder."""
    del cluster  # it runs
    monkeypatch.setenv("WALLCLOCK_LAB_LAUNCHER", "slurm")
    monkeypatch.setenv("WALLCLOCK_RUNS", str(tmp_path / "runs %j #1?"))
    monkeypatch.setenv("WALLCLOCK_SLURM_PARTITION", "labs")
    return tmp_path


@pytest.mark.slow(10)
def test_each_node_of_slurm_is_checked_alone_and_one_without_a_report_is_named(
    on_slurm: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    python = on_slurm / "python"
    python.write_text(_PYTHON.format(folder=on_slurm))
    python.chmod(0o755)
    report = checked("two", 700e12).report
    assert report
    (on_slurm / "report").write_text(report.as_json())
    monkeypatch.setenv("WALLCLOCK_SLURM_PYTHON", str(python))
    monkeypatch.setenv("WALLCLOCK_SLURM_GPUS", "4")
    assert main(["lab", "check", "--nodes", "all", "--quick", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    one, two = found["nodes"]
    assert (one["node"], one["exit_code"], one["report"]) == ("one", 1, None)
    assert (two["node"], two["exit_code"], two["report"]["host"]) == ("two", 0, "two")
    assert one["trouble"].endswith(": no module named app")
    assert (on_slurm / "arguments").read_text() == "-m app lab check --json --quick\n"
    assert (on_slurm / "one").read_text() == "local 1 one\n"
    assert (on_slurm / "two").read_text() == "local 1 two\n"
    assert main(["lab", "check", "--nodes", "two"]) == 0
    assert " two     0  ok" in capsys.readouterr().out
    monkeypatch.setenv("WALLCLOCK_SLURM_SITE", str(on_slurm / "site"))
    (on_slurm / "site").write_text("#SBATCH --constraint=missing\n")
    assert main(["lab", "check", "--nodes", "two"]) == 1
    assert "two: Slurm rejected it: " in capsys.readouterr().out


@pytest.mark.slow(5)
def test_a_node_that_slurm_does_not_know_is_refused(on_slurm: Path, capsys: Output) -> None:
    assert main(["lab", "check", "--nodes", "three"]) == 1
    assert "three" in capsys.readouterr().err
    assert not [*on_slurm.glob("runs*")]


@pytest.mark.slow(60)
@pytest.mark.usefixtures("on_slurm")
def test_a_real_check_runs_on_a_node(capsys: Output) -> None:
    main(["lab", "check", "--nodes", "one", "--quick", "--json"])
    (one,) = json.loads(capsys.readouterr().out)["nodes"]
    assert one["trouble"] == ""
    assert "--quick" in one["report"]["command"]
    found = {each["name"]: each for step in one["report"]["steps"] for each in step["findings"]}
    assert found["2 ranks over gloo"]["verdict"] == "passed"
    assert os.environ["WALLCLOCK_LAB_LAUNCHER"] == "slurm"

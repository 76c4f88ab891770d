"""`wallclock lab`: what it chooses is refused or honored, said, and stored with the run."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.__main__ import main
from app.labs.launch.base import write_run
from app.labs.machines.devices import Devices, join_sources
from app.labs.run import RunOutcome
from app.labs.spec import known_labs, lab_called, read_job
from app.server.db.run_state import RunState
from tests.labs.gpus import H100, TOO_OLD, known, listing, machine, plain, seen

OLD_DRIVER = join_sources(seen(error=TOO_OLD), listing(), {})
WHY = f"On processors, over gloo: torch 2.13.0, built for CUDA 13.0, cannot use this machine's 8 × {H100}"


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "runs"
    monkeypatch.setenv("WALLCLOCK_RUNS", str(folder))
    return folder


Output = pytest.CaptureFixture[str]


@pytest.mark.parametrize("action", ["run", "prepare"])
@pytest.mark.parametrize("name", [name for name, lab in known_labs().items() if lab.gpu is None])
def test_a_lab_without_a_form_for_gpus_refuses_nccl(name: str, action: str, capsys: Output, runs: Path) -> None:
    assert main(["lab", action, name, "--backend", "nccl"]) == 1
    assert f"{name} runs on processors only, over gloo: " in capsys.readouterr().err
    assert not runs.exists()


def test_too_few_gpus_are_refused_before_anything_is_written(
    capsys: Output, runs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known(monkeypatch, tmp_path, machine(2))
    assert main(["lab", "run", "all-reduce", "ranks=4", "--backend", "nccl"]) == 1
    assert "4 ranks, and there are 2 GPUs; take fewer ranks" in capsys.readouterr().err
    assert not runs.exists()


@pytest.mark.parametrize(
    ("found", "options", "backend", "says"),
    [
        (None, [], "gloo", "--backend nccl prepares it for one GPU per rank."),
        (OLD_DRIVER, [], "gloo", WHY),
        (machine(8), [], "nccl", "as this machine could run it"),
        (machine(8), ["--backend", "gloo"], "gloo", ""),
        (None, ["--backend", "nccl"], "nccl", ""),
    ],
)
def test_what_is_prepared_says_what_was_chosen_and_keeps_it(
    found: Devices | None, options: list[str], backend: str, says: str,
    capsys: Output, runs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    if found:
        known(monkeypatch, tmp_path, found)
    else:
        plain(monkeypatch)
    assert main(["lab", "prepare", "all-reduce", "ranks=2", *options]) == 0
    printed = capsys.readouterr()
    (folder,) = runs.iterdir()
    job = json.loads((folder / "job.json").read_text())
    assert (job["backend"], job["devices"]) == (backend, "gpu" if backend == "nccl" else "cpu")
    assert "".join(f"{note}\n" for note in job["notes"]) == printed.err
    assert says in printed.err
    assert bool(says) == bool(printed.err)
    assert main(["lab", "show", folder.name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"][: len(job["notes"])] == job["notes"]
    assert main(["lab", "show", folder.name]) == 0
    assert says in capsys.readouterr().out


@pytest.mark.needs("torch")
@pytest.mark.slow(5)
def test_a_run_says_why_it_takes_processors_once_and_keeps_it(
    capsys: Output, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known(monkeypatch, tmp_path, OLD_DRIVER)
    assert main(["lab", "run", "all-reduce", "ranks=2", "sizes=4KiB"]) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith(WHY)
    assert WHY not in printed.out
    assert "2 ranks, gloo" in printed.out
    assert main(["lab", "show", printed.out.split()[-1], "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["state"], report["backend"]) == ("done", "gloo")
    assert report["notes"][0].startswith(WHY)


@pytest.mark.parametrize(
    ("given", "shown", "says"),
    [
        ({"ranks": "8"}, 8, f"8 × {H100}"),
        ({"ranks": "8"}, 1, f"8 × {H100}"),  # each rank was shown its own GPU only
        ({"ranks": "16", "nodes": "2"}, 8, f"16 × {H100} on 2 nodes"),
        ({"ranks": "2"}, 0, "2 × an unknown GPU"),
    ],
)
def test_a_run_on_gpus_is_shown_with_one_per_rank(
    capsys: Output, runs: Path, given: dict[str, str], shown: int, says: str
) -> None:
    job = read_job(lab_called("all-reduce").on("nccl"), given)
    run = write_run(runs, job, "nccl", launcher="by hand", devices=machine(shown))
    run.write_outcome(RunOutcome(RunState.DONE))
    assert main(["lab", "show", run.id]) == 0
    assert f"cores, {says}\n" in capsys.readouterr().out


def test_gpus_of_two_kinds_are_counted_apart(capsys: Output, runs: Path) -> None:
    job = read_job(lab_called("all-reduce").on("nccl"), {"ranks": "3"})
    mixed = machine(3)
    other = replace(mixed.devices[2], name="NVIDIA A100")
    mixed = replace(mixed, devices=(*mixed.devices[:2], other))
    run = write_run(runs, job, "nccl", launcher="by hand", devices=mixed)
    assert main(["lab", "show", run.id]) == 0
    assert f"cores, 2 × {H100}, 1 × NVIDIA A100\n" in capsys.readouterr().out


def test_the_list_tells_which_labs_have_a_form_for_gpus(capsys: Output) -> None:
    assert main(["lab", "list"]) == 0
    found, name = set(), ""
    for line in capsys.readouterr().out.splitlines():
        name = name if line.startswith(" ") else line.split()[0]
        if line.startswith("    on GPUs, over nccl: "):
            found.add(name)
    assert found == {name for name, lab in known_labs().items() if lab.gpu}


def test_the_list_tells_ranks_links_and_choices(capsys: Output) -> None:
    assert main(["lab", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = {line.split()[0]: line for line in lines if not line.startswith(" ")}
    assert set(heads) == set(known_labs())
    for name, lab in known_labs().items():
        where = {"real": "real links", "emulated": "emulated link", "counted": "counted"}[lab.links]
        least, most, _ = lab.ranks
        ranks = f"{least} to {most} ranks" if least < most else "1 rank" if most == 1 else f"{most} ranks"
        assert heads[name] == f"{name}  ({where}, {ranks})"
    assert any(line.strip().startswith("operation=all_reduce  ") and "all_gather, " in line for line in lines)
    assert main(["lab", "list", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == list(known_labs())

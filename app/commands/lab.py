"""`wallclock lab`: predict, then measure, without a server."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from app.commands import lab_check, lab_record
from app.commands.lab_beside import show_beside, write_rows
from app.commands.lab_launch import run_to_end, say_notes
from app.commands.parsers import add_actions, add_command
from app.config import Settings
from app.db.run_state import RunState
from app.labs.launch.choice import launcher_of
from app.labs.launch.plan import planned_elsewhere
from app.labs.launch.torchrun import instructions, prepared
from app.labs.machines.devices import find_devices
from app.labs.results.analysis import report_of
from app.labs.results.disturbance import WHAT_TO_DO
from app.labs.results.gpu_rows import gpu_table
from app.labs.results.notes import range_in_words
from app.labs.results.pairs import pair_table, pair_title
from app.labs.results.recordings import parameter_pairs
from app.labs.results.report import Report, held_in, ratio_shown, show_measure
from app.labs.run import LabRun
from app.labs.spec import Lab, known_labs, lab_called
from app.units import BYTE_PER_SECOND, SECOND, show

_FAILED, _INTERRUPTED = 1, 130


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock lab`."""
    actions = add_actions(parser)
    listing = add_command(actions, "list", "list every lab with its parameters")
    run = add_command(actions, "run", "run a lab and show its results")
    prepare = add_command(actions, "prepare", "write a run to disk, for another launcher to start")
    for action in (run, prepare):
        action.add_argument("name", metavar="NAME", help="such as all-reduce")
        action.add_argument("pairs", nargs="*", metavar="key=value", help="ranks=4 nodes=2 sizes=1KiB..64MiB")
        action.add_argument(
            "--backend",
            choices=("auto", "nccl", "gloo"),
            default="auto",
            help="auto: nccl if the lab can use GPUs and there is one per rank, gloo otherwise",
        )
    lab_check.add_options(add_command(actions, "check", "check the GPUs of this machine, step by step"))
    lab_record.add_options(add_command(actions, "record", "record the runs of a list that nothing disturbed"))
    show = add_command(actions, "show", "show an earlier run")
    show.add_argument("run", metavar="RUN")
    show.add_argument("--beside", metavar="FILE", help="output of nccl-tests on the same machine: text or JSON")
    for action in (listing, run, show):
        action.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: Namespace) -> int:
    """List the labs, run one, or show a run."""
    match arguments.action:
        case "list":
            return _list(as_json=arguments.json)
        case "run":
            return _run(arguments)
        case "prepare":
            return _prepare(arguments)
        case "check":
            return lab_check.run(arguments)
        case "record":
            return lab_record.run(arguments)
    launcher = launcher_of(Settings())
    run = launcher.run_called(arguments.run)
    launcher.outcome_of(run)
    if arguments.beside:
        return show_beside(report_of(run), Path(arguments.beside), as_json=arguments.json)
    return _show(run, as_json=arguments.json)


def _list(*, as_json: bool) -> int:
    if as_json:
        plain = [lab.model_dump(by_alias=True) for lab in known_labs().values()]
        sys.stdout.write(json.dumps(plain) + "\n")
        return 0
    for lab in known_labs().values():
        where = {"real": "real links", "emulated": "emulated link", "counted": "counted"}[lab.links]
        sys.stdout.write(f"{lab.name}  ({where}, {_ranks(lab)})\n    {lab.summary}\n")
        for name in lab.parameters:
            sys.stdout.write(f"    {_parameter(lab, name)}\n")
        if lab.gpu:
            sys.stdout.write(f"    on GPUs, over nccl: {_ranks(lab.gpu)}\n")
            for name, one in lab.gpu.parameters.items():
                if one != lab.parameters.get(name):
                    sys.stdout.write(f"      {_parameter(lab.gpu, name)}\n")
    return 0


def _parameter(lab: Lab, name: str) -> str:
    parameter = lab.parameters[name]
    choice = f": {', '.join(parameter.one_of)}" if parameter.one_of else ""
    return f"{name}={parameter.start}  {parameter.says}{choice}"


def _ranks(lab: Lab) -> str:
    least, most, _ = lab.ranks
    if least < most:
        return f"{least} to {most} ranks"
    return "1 rank" if most == 1 else f"{most} ranks"


def _run(arguments: Namespace) -> int:
    given = parameter_pairs(arguments.pairs)
    with closing(launcher_of(Settings())) as launcher:
        name, backend = arguments.name, arguments.backend
        ended = run_to_end(launcher, name, given, backend, quiet=arguments.json)
    code = _show(ended, as_json=arguments.json, said=ended.job.notes)
    return _INTERRUPTED if ended.outcome and ended.outcome.state is RunState.CANCELED else code


def _prepare(arguments: Namespace) -> int:
    """Store a run, and print how to start its ranks."""
    given, settings = parameter_pairs(arguments.pairs), Settings()
    plan = planned_elsewhere(lab_called(arguments.name), given, arguments.backend, find_devices)
    run = prepared(plan.job, settings.runs, plan.backend, plan.notes, settings.lab_network)
    say_notes(plan)
    sys.stdout.write(instructions(run))
    return 0


def _show(run: LabRun, *, as_json: bool, said: Sequence[str] = ()) -> int:
    """Print the report of *run*, without the notes that were *said* already."""
    report = report_of(run)
    if as_json:
        sys.stdout.write(report.as_json() + "\n")
    else:
        _print(report, run, [note for note in report.notes if note not in said])
    return 0 if report.state in (RunState.DONE, RunState.RUNNING) else _FAILED


def _print(report: Report, run: LabRun, notes: Sequence[str]) -> None:
    lab = lab_called(report.lab).run_over(report.backend)
    write = sys.stdout.write
    write("".join(f"{says}\n" for says in _doubts(report)))
    write(f"{lab.title}: {report.size}, {report.backend}, {_LINKS[lab.links]}\n")
    machine = report.machine
    write(f"{machine.processor}, {machine.cores} cores{report.gpus and ', '}{report.gpus}\n")
    for name, right in report.checks.items():
        write(f"data check {name}: {'passed' if right else 'FAILED'}\n")
    if report.measures:
        _tables(lab, report)
    if report.line:
        line = report.line
        write(
            f"\nlatency {show(line.latency, SECOND)}{range_in_words(line.latency_range, SECOND)}"
            f" + size / {show(line.bandwidth, BYTE_PER_SECOND)}"
            f"{range_in_words(line.bandwidth_range, BYTE_PER_SECOND)}, with a median error of "
            f"{100 * line.median_error:.2g} %\n"
        )
    for note in notes:
        write(f"\n{note}\n")
    if report.state is not RunState.DONE:
        write(f"\n{report.state.word}: {report.cause}\n{run.log()}\n")
    write(f"\nrun {report.id}\n")


def _doubts(report: Report) -> Iterator[str]:
    """What disturbed a run, ahead of everything else."""
    if report.doubts:
        yield "Something disturbed this run."
        yield from (f"- {doubt}" for doubt in report.doubts)
        yield f"{WHAT_TO_DO}\n"


_LINKS = {"real": "the links of this machine", "emulated": "an emulated link", "counted": "counted, not timed"}


def _tables(lab: Lab, report: Report) -> None:
    for matrix in report.pairs:
        sys.stdout.write(f"\n{pair_title(matrix)}\n")
        write_rows(list(pair_table(matrix)))
    if not report.pairs:
        sys.stdout.write("\n")
        write_rows(results_table(lab, report))
    if report.each_gpu:
        sys.stdout.write("\n")
        write_rows(list(gpu_table(report.each_gpu)))


def results_table(lab: Lab, report: Report) -> Sequence[Sequence[str]]:
    """Measurements and predictions: a header, then one row per place."""
    derived = report.derivations
    header = [*report.places, "measure", "n", "min", "median", "p90", *derived, "formula"]
    rows = [
        [
            *(lab.shown_at(key, one.where.get(key, "")) for key in report.places),
            one.name,
            str(one.count),
            *(show_measure(lab, one.name, value) for value in (one.least, one.median, one.p90)),
            *(one.derived[key].shown if key in one.derived else "" for key in derived),
            "" if one.predicted is None else show_measure(lab, one.name, one.predicted),
            "" if one.ratio is None else f"{ratio_shown(one.ratio)} ({held_in(lab, one.name)})",
        ]
        for one in report.measures
    ]
    return [[*header, "over formula"], *rows]

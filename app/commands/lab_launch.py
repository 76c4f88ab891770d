"""How a command runs a lab to its end, prepares a run for another launcher, or shows one."""

import json
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from shlex import quote

from tqdm import tqdm

from app.commands.files import write_rows
from app.core.errors import InputError
from app.core.units import BYTE_PER_SECOND, SECOND, show
from app.labs.launch.base import Backend, Find, Launcher, LaunchPlan, WaitingReason, plan_job, write_run
from app.labs.launch.local import launcher_of
from app.labs.machines.devices import find_devices
from app.labs.results.analysis import report_of
from app.labs.results.notes import gpu_table, pair_table, pair_title, range_in_words
from app.labs.results.report import WHAT_TO_DO, Report, held_in, ratio_shown, show_measure
from app.labs.run import LabRun
from app.labs.runner.events import MeasureEvent
from app.labs.spec import Lab, LabJob, lab_called, read_job
from app.server.config import Settings
from app.server.db.run_state import RunState

_ELSEWHERE: Mapping[Backend, str] = {
    "gloo": "It is prepared for processors, over gloo: the GPUs of the machine that it will run on "
    "are not known here. --backend nccl prepares it for one GPU per rank.",
    "nccl": "It is prepared for one GPU per rank, over nccl, as this machine could run it. "
    "--backend gloo prepares it for processors.",
}
_FAILED, _INTERRUPTED = 1, 130
_STARTING = 1800.0  # seconds until all nodes are free, and have the image
_PATIENCE = 600.0  # seconds to wait for the devices


def run(arguments: Namespace) -> int:
    """Run a lab, prepare a run, or show one."""
    if arguments.action == "run":
        return _launch_run(arguments)
    if arguments.action == "prepare":
        return _prepare(arguments)
    launcher = launcher_of(Settings())
    run = launcher.run_called(arguments.run)
    launcher.outcome_of(run)
    if arguments.beside:
        return _show_beside(report_of(run), Path(arguments.beside), as_json=arguments.json)
    return _show(run, as_json=arguments.json)


def run_to_end(
    launcher: Launcher, name: str, given: Mapping[str, str], backend: str, *, quiet: bool, refuses_busy: bool = False
) -> LabRun:
    """Run the lab *name*, with its progress if not *quiet*; Ctrl+C cancels it.

    It *refuses_busy* GPUs rather than measure them.

    Raises:
        InputError: it cannot be run with these parameters, or here.
    """
    plan = launcher.plan(lab_called(name), given, backend)
    say_notes(plan)
    job = replace(plan.job, refuses_busy=refuses_busy)
    run = launcher.start(job, plan.backend, _PATIENCE, notes=plan.notes)
    _follow(launcher, run, plan.job.lab.name, quiet=quiet)
    return run


def say_notes(plan: LaunchPlan) -> None:
    """Say what is to be known about the choice of the backend, apart from the results."""
    for note in plan.notes:
        sys.stderr.write(f"{note}\n")


def _follow(launcher: Launcher, run: LabRun, lab: str, *, quiet: bool) -> None:
    with tqdm(desc=lab, unit=" point", disable=quiet or None, leave=False) as bar:
        try:
            for event in launcher.follow(run):
                match event:
                    case MeasureEvent():
                        bar.update()
                    case WaitingReason(says):
                        bar.set_postfix_str(says)
        except KeyboardInterrupt:
            launcher.cancel(run)
            for _ in launcher.follow(run):
                continue


def parameter_pairs(given: Iterable[str]) -> Mapping[str, str]:
    """The parameters of a run, each *given* as key=value."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"{text!r} is not key=value")
        found[name] = value
    return found


def _launch_run(arguments: Namespace) -> int:
    given = parameter_pairs(arguments.pairs)
    with closing(launcher_of(Settings())) as launcher:
        name, backend = arguments.name, arguments.backend
        ended = run_to_end(launcher, name, given, backend, quiet=arguments.json, refuses_busy=not arguments.anyway)
    code = _show(ended, as_json=arguments.json, said=ended.job.notes)
    return _INTERRUPTED if ended.outcome and ended.outcome.state is RunState.CANCELED else code


def _prepare(arguments: Namespace) -> int:
    """Store a run, and print how to start its ranks."""
    given, settings = parameter_pairs(arguments.pairs), Settings()
    plan = planned_elsewhere(lab_called(arguments.name), given, arguments.backend, find_devices)
    job = replace(plan.job, refuses_busy=not arguments.anyway)
    run = prepare_run(job, settings.runs, plan.backend, plan.notes, settings.lab_network)
    say_notes(plan)
    sys.stdout.write(instructions(run))
    return 0


def planned_elsewhere(lab: Lab, given: Mapping[str, str], asked: str, find: Find) -> LaunchPlan:
    """The job of a run that another machine will start, whose GPUs are not known.

    *find* returns those of this machine, from which auto chooses.
    """
    if asked == "nccl":
        return LaunchPlan(read_job(lab.on("nccl"), given), "nccl")
    plan = plan_job(lab, given, asked, find)
    if asked == "gloo" or lab.gpu is None:
        return plan
    return LaunchPlan(plan.job, plan.backend, (*plan.notes, _ELSEWHERE[plan.backend]))


def prepare_run(job: LabJob, folder: Path, backend: str, notes: Sequence[str] = (), network: str = "") -> LabRun:
    """The run of *job*, which begins when its ranks are started; it needs no leader."""
    return write_run(folder, job, backend, launcher="by hand", notes=notes, starting=_STARTING, network=network)


def instructions(run: LabRun) -> str:
    """How to start the ranks of *run*."""
    job, program = run.job, f"-m app.labs.runner {quote(str(run.folder.absolute() / 'job.json'))}"
    nodes = job.nodes or 1
    if nodes > 1:
        where = f"On each of {nodes} nodes, where HOST is the first and N is 0 there"
        meeting = f"--nnodes={nodes} --node-rank=N --master-addr=HOST"
    else:
        where, meeting = "On one machine", "--standalone"
    return (
        f"run {run.id}\n{where}:\n"
        f"    torchrun {meeting} --nproc-per-node={job.ranks // nodes} {program}\n"
        f"Or start each rank with RANK, WORLD_SIZE={job.ranks} and, with several GPUs on a "
        f"machine, LOCAL_RANK set:\n"
        f"    python {program}\n"
    )


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


def _show_beside(report: Report, path: Path, *, as_json: bool) -> int:
    """Print *report* and the test of nccl-tests in the file at *path*, size by size."""
    # Only this needs what a site knows of nccl-tests.
    from app.core.measurements.reports import CollectiveTest
    from app.server.aside.measured_files import measured_apart
    from app.site.labs.nccl_tests import SIZE_COLUMNS, compare_sizes, difference_text, is_same_test

    tests = [one for one in measured_apart([path]) if isinstance(one, CollectiveTest)]
    if not tests:
        raise InputError(f"{path.name} has no table of nccl-tests")
    of_same = [one for one in tests if is_same_test(report, one)]
    pairs = compare_sizes(report, (of_same or tests)[0])
    if as_json:
        rows = [
            {"size": one.size, "time": one.ours.median, "nccl_tests": one.theirs.median, "ratio": one.ratio}
            for one in pairs
        ]
        sys.stdout.write(json.dumps(rows) + "\n")
        return 0
    write_rows([SIZE_COLUMNS, *(one.cells() for one in pairs)])
    sys.stdout.write(f"\n{difference_text(pairs)}\n")
    return 0

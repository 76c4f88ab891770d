"""`wallclock lab`: predict, then measure, without a server."""

import json
import platform
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from app.commands.files import add_actions, add_command
from app.commands.modules import load_command
from app.labs.spec import Lab, known_labs

_FAILED = 1
_LIMIT = 600.0  # seconds for each process
_SAID = 300  # characters of what a process said


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
        action.add_argument("--anyway", action="store_true", help="measure although others use the GPUs")
    _add_check_options(add_command(actions, "check", "check the GPUs of this machine, step by step"))
    record = add_command(actions, "record", "record the runs of a list that nothing disturbed")
    record.add_argument(
        "list", metavar="LIST", help="a file with a lab and its parameters on each line, or - for standard input"
    )
    record.add_argument("-o", "--output", metavar="FOLDER", default="recorded", help="default: recorded")
    selftest = add_command(actions, "selftest", "run every lab and what else can be tested on this machine")
    selftest.add_argument("-o", "--output", metavar="FILE", default="selftest.json", help="default: selftest.json")
    selftest.add_argument("--labs", metavar="NAMES", help="only these labs, such as all-reduce,zero")
    show = add_command(actions, "show", "show an earlier run")
    show.add_argument("run", metavar="RUN")
    show.add_argument("--beside", metavar="FILE", help="output of nccl-tests on the same machine: text or JSON")
    for action in (listing, run, show):
        action.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: Namespace) -> int:
    """List the labs, run one, or show a run; what a listing does without is imported only for the others."""
    if arguments.action == "list":
        return _list_labs(as_json=arguments.json)
    if arguments.action == "selftest":
        return _run_selftest(arguments)
    modules = {"check": "lab_check", "record": "lab_record"}
    return int(load_command(modules.get(arguments.action, "lab_launch")).run(arguments))


def _add_check_options(parser: ArgumentParser) -> None:
    """The options of `wallclock lab check`."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes: large sizes, kernels")
    parser.add_argument("--record", metavar="FILE", help="also run the standard labs, and write a file to send in")
    parser.add_argument(
        "--nodes", metavar="NODES", help="under Slurm: check each of these nodes alone, such as gpu[01-04], or all"
    )


def _list_labs(*, as_json: bool) -> int:
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


def _run_selftest(arguments: Namespace) -> int:
    """Take every part, and write what came of it; a fault is exit code 1."""
    parts = []
    for one in _parts(arguments.labs.split(",") if arguments.labs else list(known_labs())):
        parts.append(one)
        doubts = one.get("doubts") or one.get("apart")
        remark = f": {one['fault']}" if one["fault"] else "  (disturbed)" if doubts else ""
        sys.stdout.write(f"{'FAILED' if one['fault'] else 'passed'}  {one['part']} {one['name']}{remark}\n")
        sys.stdout.flush()
    faults = [f"{one['part']} {one['name']}: {one['fault']}" for one in parts if one["fault"]]
    at = datetime.now(UTC).isoformat(timespec="seconds")
    result = {"at": at, "host": platform.node(), "python": platform.python_version(), "faults": faults, "parts": parts}
    from app.labs.runner.job import write_whole  # a list of labs needs no runner

    write_whole(Path(arguments.output), (json.dumps(result, indent=1) + "\n").encode())
    sys.stdout.write(f"{len(parts)} parts, {len(faults)} with a fault: {arguments.output}\n")
    return _FAILED if faults else 0


def _parts(labs: Sequence[str]) -> Iterator[Mapping[str, object]]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        code, text, fault = _said(["-m", "app.labs.check.selftest", folder])
    found = [json.loads(line) for line in text.splitlines() if line.startswith('{"part"')]
    yield from found
    if code or not found:
        yield {"part": "forced", "name": "process", "fault": fault or f"it ended with exit code {code}"}
    for name in labs:
        yield _of_lab(name)


def _of_lab(name: str) -> Mapping[str, object]:
    """A run of the lab *name*, as the command line would do it."""
    from app.labs.runner.job import DONE

    code, text, fault = _said(["-m", "app", "lab", "run", name, "--json"])
    try:
        report = json.loads(text)
    except ValueError:
        return {"part": "lab", "name": name, "fault": fault or f"no JSON, and exit code {code}"}
    right = all(report["checks"].values())
    fault = "" if report["state"] == DONE and right and not code else str(report["cause"] or f"exit code {code}")
    return {"part": "lab", "name": name, "fault": fault, "doubts": report["doubts"], "report": report}


def _said(words: Sequence[str]) -> tuple[int, str, str]:
    """The exit code of a process of Python, what it printed, and what went wrong in a few words."""
    import subprocess

    try:
        done = subprocess.run(
            [sys.executable, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LIMIT
        )
    except subprocess.TimeoutExpired:
        return -1, "", f"it took more than {_LIMIT:g} s"
    last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "")
    return done.returncode, done.stdout, last[:_SAID] if done.returncode else ""

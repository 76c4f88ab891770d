"""`wallclock lab`: predict, then measure, without a server."""

import json
import sys
from argparse import ArgumentParser, Namespace

from app.commands.files import add_actions, add_command
from app.commands.modules import load_command
from app.labs.spec import Lab, known_labs


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
    _add_record_options(add_command(actions, "record", "record the runs of a list that nothing disturbed"))
    show = add_command(actions, "show", "show an earlier run")
    show.add_argument("run", metavar="RUN")
    for action in (listing, run, show):
        action.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: Namespace) -> int:
    """List the labs, run one, or show a run; what a listing does without is imported only for the others."""
    if arguments.action == "list":
        return _list_labs(as_json=arguments.json)
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


def _add_record_options(parser: ArgumentParser) -> None:
    """The options of `wallclock lab record`."""
    parser.add_argument(
        "list", metavar="LIST", help="a file with a lab and its parameters on each line, or - for standard input"
    )
    parser.add_argument("-o", "--output", metavar="FOLDER", default="recorded", help="default: recorded")


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

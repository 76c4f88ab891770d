"""The command line: `wallclock`, or `python -m app`."""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from tempfile import mkdtemp
from types import ModuleType
from typing import TypeAlias

from app.commands.operating_options import add_grade, add_operations, add_sandbox
from app.commands.operator_options import add_doctor, add_moodle, add_new, add_pack
from app.commands.options import (
    add_export,
    add_measured,
    add_platform,
    add_regrade,
    add_schedule,
    add_search,
    add_trace,
)
from app.commands.people_options import add_class, add_grades, add_results, add_roster, add_token
from app.errors import AppError, ContentError, UnavailableError, sentence

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def main(given: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code.

    0: success, 1: a finding or invalid input, 2: incorrect usage, 130: interrupted.
    """
    arguments = _parsed(given)
    try:
        if getattr(arguments, "workers", 1) > 1:  # of `serve`
            _share_counts()
        command = _imported(arguments.command)
        return int(command.run(arguments))
    except ContentError as error:
        return _failed(str(error))
    except (AppError, ValueError) as error:  # a setting that cannot be read is a ValueError
        return _failed(_one_line(error))
    except BrokenPipeError:
        # The reader of the output is gone; a second error at exit would not help.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def _share_counts() -> None:
    """Let processes add up their counts, which prometheus_client decides when it is imported."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = mkdtemp(prefix="wallclock-metrics-")


def _imported(command: str) -> ModuleType:
    """The module of *command*. Nothing that it imports is garbage, so none is looked for."""
    gc.disable()
    try:
        return import_module(f"app.commands.{command}")
    finally:
        gc.freeze()
        gc.enable()


def run() -> None:
    """The console script."""
    sys.exit(main())


def _parsed(given: Sequence[str] | None) -> argparse.Namespace:
    """The arguments; a list may go on after an option, where earlier argparses give up."""
    parser = _parser()
    arguments, rest = parser.parse_known_args(given)
    if rest and not (hasattr(arguments, "pairs") and all(word[:1] != "-" for word in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        arguments.pairs = [*arguments.pairs, *rest]
    return arguments


def _failed(says: str) -> int:
    sys.stderr.write(f"wallclock: {says}\n")
    return 1


def _one_line(error: Exception) -> str:
    errors = getattr(error, "errors", None)
    if callable(errors):  # pydantic's, of a setting
        return "; ".join(_of_setting(e["loc"], e["msg"]) for e in errors())
    cause = f" ({error.cause})" if isinstance(error, UnavailableError) and error.cause else ""
    return " ".join(str(error).split()) + cause


def _of_setting(where: Sequence[object], says: str) -> str:
    says = says.removeprefix("Value error, ")
    return f"WALLCLOCK_{'_'.join(map(str, where)).upper()}: {says}" if where else says


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wallclock",
        description="Predict the training step, then time it: exercises in the arithmetic of "
        "distributed training.",
        epilog="Settings come from the environment: WALLCLOCK_HOST, _PORT, _DATABASE, _EXERCISES, "
        "_SECRET, _CACHE, _RUNS and others. Exit codes: 0 success, 1 a finding or invalid input, "
        "2 incorrect usage. `wallclock COMMAND --help` describes a command.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_serve(_command(commands, "serve", "serve the site; migrates the database first"))
    add_sandbox(partial(_command, commands))
    _command(commands, "labs", "run the labs of web servers that are apart")
    lint = _command(commands, "lint", "check exercise files and report every problem")
    lint.add_argument("path", nargs="*", metavar="PATH", help="files or folders (default: all)")
    lint.add_argument("--json", action="store_true", help="print JSON, for editors and CI")
    lint.add_argument("--links", action="store_true", help="also request every source link")
    add_new(_command(commands, "new", "write a starter file for an exercise, or a course pack"))
    _add_preview(_command(commands, "preview", "show an exercise as students see it, updated live"))
    add_grade(partial(_command, commands))
    _add_answers(
        _command(commands, "answers", "write right answers and known mistakes, to test grading")
    )
    _add_predict(_command(commands, "predict", "predict the time and memory of training steps"))
    add_measured(_command(commands, "measured", "read what your own job printed or recorded"))
    add_trace(_command(commands, "trace", "make a profiler trace small and private to nobody"))
    formula = _command(commands, "formula", "evaluate a formula, or list all formulas")
    formula.add_argument(
        "name", nargs="?", help="such as collectives.ring_all_reduce_time; omit it to list all"
    )
    formula.add_argument(
        "pairs", nargs="*", metavar="key=value", help='arguments, such as size="2 GB" ranks=8'
    )
    formula.add_argument("--json", action="store_true", help="print JSON, in base units")
    add_schedule(_command(commands, "schedule", "draw a pipeline schedule as a Gantt chart"))
    add_search(_command(commands, "search", "find the best layouts of a model on a cluster"))
    _add_lab(_command(commands, "lab", "list, run, prepare or show measurements"))
    token = _actions(_command(commands, "token", "create, list or revoke API tokens"))
    add_token(partial(_command, token))
    _add_people(commands)
    add_regrade(_command(commands, "regrade", "judge answers again after an exercise was mended"))
    add_platform(_command(commands, "platform", "connect learning platforms (LTI 1.3)"))
    schema = _command(commands, "schema", "print the JSON Schema of course files, for editors")
    schema.add_argument(
        "file", nargs="?", choices=("exercise", "topic", "pack", "proofs"), default="exercise",
        help="exercise files, the topic.yaml of a chapter, the pack.yaml of a course pack, or the "
        "proofs.yaml of its formulas (default: exercise)",
    )  # fmt: skip
    add_operations(partial(_command, commands))
    add_moodle(_command(commands, "moodle", "write drawings as Moodle XML, for a question bank"))
    add_pack(_command(commands, "pack", "list course packs, or check one"))
    add_doctor(_command(commands, "doctor", "say what is there, what is missing, and the cure"))
    add_export(_command(commands, "export", "write the course as files that need no server"))
    return parser


def _command(commands: Commands, name: str, says: str) -> argparse.ArgumentParser:
    """The parser of the command *name*, described by *says* in the list and in its own help."""
    return commands.add_parser(name, help=says, description=sentence(says))


def _actions(parser: argparse.ArgumentParser) -> Commands:
    return parser.add_subparsers(dest="action", required=True, metavar="ACTION")


def _add_people(commands: Commands) -> None:
    classes = _command(commands, "class", "create, list or delete classes")
    add_class(partial(_command, _actions(classes)), classes)
    add_roster(_command(commands, "roster", "print or change the people of a class"))
    add_grades(_command(commands, "grades", "write the points of a class"))
    add_results(_command(commands, "results", "write the answers of a class"))


def _add_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host", help="address to listen on (default: WALLCLOCK_HOST or 127.0.0.1)"
    )
    parser.add_argument(
        "--port", type=int, help="port; 0: any free port (default: WALLCLOCK_PORT or 8000)"
    )
    parser.add_argument(
        "--uds", metavar="PATH", help="listen at a Unix socket instead (default: WALLCLOCK_UDS)"
    )
    parser.add_argument(
        "--root-path",
        metavar="PATH",
        help="path prefix, such as /wallclock (default: that of WALLCLOCK_URL)",
    )
    parser.add_argument("--workers", type=int, default=1, help="server processes (default: 1)")
    parser.add_argument("--no-labs", action="store_true", help="`wallclock labs` runs the labs")
    parser.add_argument("--reload", action="store_true", help="restart when a file changes")
    parser.add_argument(
        "--exercises",
        action="append",
        default=[],
        metavar="DIR",
        help="an additional folder of exercises; may be repeated",
    )


def _add_preview(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="an exercise file, or the folder of a chapter")
    parser.add_argument("--host", default="127.0.0.1", help="address (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8001, help="0: any free port (default: 8001)")


def _add_predict(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE.jsonl", help="one JSON object per line; -: standard input"
    )
    for name, example in (
        ("model", "Llama-3.1-8B, or 'Llama-3.1-8B layers=40'"), ("cluster", "'64 H100'"),
        ("layout", "'tensor=2 data=32 microbatches=4'"), ("recipe", "mixed"),
        ("shares", "product=0.66, what kernels reach of the peak"),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", help=f"instead of a file: such as {example}")
    parser.add_argument(
        "-o", "--output", metavar="OUT.jsonl", default="-", help="default: standard output"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, the summary included")


def _add_answers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("exercise", nargs="*", metavar="EXERCISE", help="IDs (default: all)")
    parser.add_argument(
        "--seeds", default="0..19", metavar="A..B", help="inclusive (default: 0..19)"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="-", help="default: standard output"
    )


def _add_lab(parser: argparse.ArgumentParser) -> None:
    actions = _actions(parser)
    listing = _command(actions, "list", "list every lab with its parameters")
    run = _command(actions, "run", "run a lab and show its results")
    prepare = _command(actions, "prepare", "write a run to disk, for another launcher to start")
    for action in (run, prepare):
        action.add_argument("name", metavar="NAME", help="such as all-reduce")
        action.add_argument(
            "pairs", nargs="*", metavar="key=value", help="ranks=4 nodes=2 sizes=1KiB..64MiB"
        )
        action.add_argument(
            "--backend", choices=("auto", "nccl", "gloo"), default="auto",
            help="auto: nccl if the lab can use GPUs and there is one per rank, gloo otherwise",
        )  # fmt: skip
    prepare.add_argument(
        "--image", default="", help="print a Kubernetes Job for this container image"
    )
    prepare.add_argument(
        "--claim", default="runs", help="volume claim with WALLCLOCK_RUNS (default: runs)"
    )
    prepare.add_argument(
        "--resource", action="append", default=[], metavar="NAME[=COUNT]",
        help="a device per rank, such as amd.com/gpu (default over nccl: nvidia.com/gpu), or COUNT "
        "per pod, such as rdma/hca=1; may be repeated",
    )  # fmt: skip
    prepare.add_argument(
        "--cpus", type=int, default=0, help="per rank (default: 4 over nccl, 1 over gloo)"
    )
    prepare.add_argument(
        "--annotation", action="append", default=[], metavar="KEY=VALUE",
        help="of each pod, such as k8s.v1.cni.cncf.io/networks=rdma-net; may be repeated",
    )  # fmt: skip
    prepare.add_argument(
        "--host-network", action="store_true", help="give the pods the network of their node"
    )
    prepare.add_argument(
        "--memory", default="", help="per rank (default: 16Gi over nccl, 2Gi over gloo)"
    )
    _add_lab_check(_command(actions, "check", "check the GPUs of this machine, step by step"))
    show = _command(actions, "show", "show an earlier run")
    show.add_argument("run", metavar="RUN")
    for action in (listing, run, show):
        action.add_argument("--json", action="store_true", help="print JSON")


def _add_lab_check(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command="lab_check")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--quick", action="store_true", help="leave out what takes minutes: large sizes, kernels"
    )
    parser.add_argument(
        "--record", metavar="FILE", help="also run the standard labs, and write a file for a board"
    )


if __name__ == "__main__":
    run()

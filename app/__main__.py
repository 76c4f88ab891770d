"""The command line: `wallclock`, or `python -m app`."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from app.errors import AppError, ContentError, UnavailableError


def main(given: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit code.

    0 done, 1 a finding or a wrong input, 2 wrong usage, 130 interrupted.
    """
    arguments = _parser().parse_args(given)
    try:
        command = import_module(f"app.commands.{arguments.command}")
        return int(command.run(arguments))
    except ContentError as error:
        return _failed(str(error))
    except (AppError, ValueError) as error:  # a setting that cannot be read is a ValueError
        return _failed(_one_line(error))
    except BrokenPipeError:
        # Whoever read the output has gone; a second complaint at exit would help nobody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def run() -> None:
    """The console script."""
    sys.exit(main())


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
        "_SECRET, _CACHE, _RUNS. Exit codes: 0 done, 1 a finding or a wrong input, 2 wrong usage.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_serve(commands.add_parser("serve", help="the site; migrates the database first"))
    lint = commands.add_parser("lint", help="prove exercise files: every problem, with file:line")
    lint.add_argument("path", nargs="*", metavar="PATH", help="files or folders; default: all")
    lint.add_argument("--json", action="store_true", help="for editors")
    lint.add_argument("--links", action="store_true", help="ask the sources, too: are they there?")
    new = commands.add_parser("new", help="write a good starting file of an exercise")
    new.add_argument("kind", metavar="KIND", help="numeric, choice, function, ...")
    new.add_argument("name", metavar="TOPIC/SLUG", help="such as collectives/my-exercise")
    new.add_argument("--into", metavar="DIR", help="the folder of chapters (./exercises)")
    _add_preview(commands.add_parser("preview", help="an exercise file as students see it, live"))
    _add_grade(commands.add_parser("grade", help="grade a file of answers, offline"))
    _add_answers(
        commands.add_parser("answers", help="right answers and foreseen mistakes, to be graded")
    )
    formula = commands.add_parser("formula", help="the calculator; without a name, the list")
    formula.add_argument("name", nargs="?", help="such as collectives.ring_all_reduce_time")
    formula.add_argument("arguments", nargs="*", metavar="key=value", help='size="2 GB" ranks=8')
    formula.add_argument("--json", action="store_true", help="for programs")
    _add_schedule(
        commands.add_parser("schedule", help="a pipeline schedule played out, as a chart")
    )
    _add_lab(commands.add_parser("lab", help="live measurements: list, run, prepare, show"))
    _add_token(commands.add_parser("token", help="API tokens: create, list, revoke"))
    schema = commands.add_parser("schema", help="the JSON Schema of an exercise file, for editors")
    schema.add_argument(
        "file", nargs="?", choices=("exercise", "topic"), default="exercise",
        help="an exercise, or the topic.yaml of a chapter",
    )  # fmt: skip
    backup = commands.add_parser("backup", help="a consistent copy of the database while serving")
    backup.add_argument("file", metavar="FILE", help="the copy; must not exist yet")
    return parser


def _add_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", help="address to listen on (WALLCLOCK_HOST, 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port, 0 for any free one (WALLCLOCK_PORT, 8000)")
    parser.add_argument("--workers", type=int, default=1, help="server processes")
    parser.add_argument("--reload", action="store_true", help="start anew when a file changes")
    parser.add_argument(
        "--exercises",
        action="append",
        default=[],
        metavar="DIR",
        help="a further folder of exercises; may be given several times",
    )


def _add_preview(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="an exercise file, or a chapter's folder")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8001, help="port, 0 for any free one (8001)")


def _add_grade(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.jsonl", help="a line an answer; - for stdin")
    parser.add_argument("-o", "--output", metavar="OUT.jsonl", default="-", help="default: stdout")


def _add_answers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("exercise", nargs="*", metavar="EXERCISE", help="default: all")
    parser.add_argument("--seeds", default="0..19", metavar="A..B", help="both included (0..19)")
    parser.add_argument("-o", "--output", metavar="FILE", default="-", help="default: stdout")


def _add_schedule(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", help="naive, gpipe, 1f1b, interleaved, zb_h1, zb_h2, zb_v, dualpipe or dualpipe_v"
    )
    parser.add_argument("--stages", type=int, required=True, metavar="P", help="devices")
    parser.add_argument("--microbatches", type=int, required=True, metavar="M", help="in one step")
    parser.add_argument(
        "--virtual", type=int, default=1, metavar="V", help="chunks a device, when interleaved"
    )
    for name, default, says in (
        ("forward", "1 s", "of a micro-batch on a device"),
        ("backward-input", "1 s", "until the gradient of the input is there"),
        ("backward-weight", "1 s", "for the gradient of the weights"),
        ("communication", "0 s", "of a message to another device"),
    ):
        parser.add_argument(f"--{name}", default=default, metavar="T", help=f"{says} ({default})")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="for programs; times in seconds")
    form.add_argument("--svg", action="store_true", help="a picture")


def _add_lab(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="every lab, with its parameters")
    run = actions.add_parser("run", help="run one and show what it found")
    run.add_argument(
        "--backend", choices=("auto", "nccl", "gloo"), default="auto",
        help="auto: nccl where every rank can have a GPU, gloo otherwise",
    )  # fmt: skip
    prepare = actions.add_parser("prepare", help="a run whose ranks something else starts")
    for action in (run, prepare):
        action.add_argument("name", metavar="NAME", help="such as all-reduce")
        action.add_argument(
            "parameters", nargs="*", metavar="key=value", help="ranks=4 sizes=1KiB..64MiB"
        )
    prepare.add_argument("--backend", choices=("nccl", "gloo"), default="nccl")
    prepare.add_argument("--image", help="print a Job of Kubernetes for this container image")
    prepare.add_argument("--claim", default="runs", help="the volume with WALLCLOCK_RUNS (runs)")
    show = actions.add_parser("show", help="a run from before")
    show.add_argument("run", metavar="RUN")
    for action in (listing, run, show):
        action.add_argument("--json", action="store_true", help="for programs")


def _add_token(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for action, says in (
        ("create", "make one; it is shown once"),
        ("revoke", "let it open nothing"),
    ):
        actions.add_parser(action, help=says).add_argument("name", metavar="NAME")
    actions.add_parser("list", help="names, when made, whether revoked")


if __name__ == "__main__":
    run()

"""The command line: `wallclock`, or `python -m app`."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from app.commands.files import Command, Commands, add_command
from app.commands.modules import load_command
from app.core.errors import AppError, ContentError, UnavailableError

_COMMANDS = {
    "serve": "serve the site; migrates the database first",
    "sandbox": "run programs for web servers that are apart",
    "labs": "run the labs of web servers that are apart",
    "lint": "check exercise files and report every problem",
    "new": "write a starter file for an exercise, or a course pack",
    "preview": "show an exercise as students see it, updated live",
    "grade": "grade a file of answers offline",
    "answers": "write right answers and known mistakes, to test grading",
    "predict": "predict the time and memory of training steps",
    "measured": "read what your own job printed or recorded",
    "trace": "make a profiler trace small and private to nobody",
    "formula": "evaluate a formula, or list all formulas",
    "schedule": "draw a pipeline schedule as a Gantt chart",
    "search": "find the best layouts of a model on a cluster",
    "lab": "list, run, prepare or show measurements",
    "token": "create, list or revoke API tokens",
    "class": "create, list or delete classes",
    "roster": "print or change the people of a class",
    "person": "export, delete or merge persons",
    "grades": "write the points of a class",
    "results": "write the answers of a class",
    "regrade": "judge answers again after an exercise was mended",
    "platform": "connect learning platforms (LTI 1.3)",
    "schema": "print the JSON Schema of course files, for editors",
    "backup": "copy the database and lab runs, even while they are in use",
    "restore": "put a backup into the database",
    "move": "restore a backup of everything into another database, such as PostgreSQL",
    "moodle": "write drawings as Moodle XML, for a question bank",
    "qti": "write drawings as a QTI 3.0 package, for the question banks of other systems",
    "pack": "list course packs, or check one",
    "doctor": "say what is there, what is missing, and the cure",
    "export": "write the course as files that need no server",
}
# The modules that have several commands, or are not called like their command.
_MODULES = {
    "backups": "backup restore move",
    "drawings": "answers moodle qti",
    "grade": "grade merge",
    "lint": "lint pack",
    "new": "new schema",
    "people": "class roster person grades results",
    "side_servers": "sandbox labs",
}


def main(given: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code.

    0: success, 1: a finding or invalid input, 2: incorrect usage, 130: interrupted.
    """
    try:
        arguments = parse_command_line(sys.argv[1:] if given is None else given)
        _, run_command = _functions_of(arguments.command)
        return int(run_command(arguments))
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


def run() -> None:
    """What `python -m app` runs."""
    sys.exit(main())


def _functions_of(command: str) -> Command:
    """What adds the options of *command*, and what runs it."""
    module = load_command(next((name for name, has in _MODULES.items() if command in has.split()), command))
    several: Commands | None = vars(module).get("COMMANDS")
    return several[command] if several else (module.add_options, module.run)


def parse_command_line(given: Sequence[str]) -> argparse.Namespace:
    """The arguments; a list may go on after an option, where earlier argparses give up."""
    parser = _parser(next((word for word in given if word in _COMMANDS), None))
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
    if hasattr(error, "errors"):  # pydantic's, of a setting; to import it takes a while
        return "; ".join(import_module("app.server.config").setting_problems(error))
    cause = f" ({error.cause})" if isinstance(error, UnavailableError) and error.cause else ""
    return " ".join(str(error).split()) + cause


def _parser(named: str | None) -> argparse.ArgumentParser:
    """The parser of all commands, with the options of the one that is *named*."""
    parser = argparse.ArgumentParser(
        prog="wallclock",
        description="Predict the training step, then time it: exercises in the arithmetic of distributed training.",
        epilog="Settings come from the environment: WALLCLOCK_HOST, _PORT, _DATABASE, _EXERCISES, "
        "_SECRET, _CACHE, _RUNS and others. Exit codes: 0 success, 1 a finding or invalid input, "
        "2 incorrect usage. `wallclock COMMAND --help` describes a command.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, says in _COMMANDS.items():
        command = add_command(commands, name, says)
        if name == named:
            add_options, _ = _functions_of(name)
            add_options(command)
    return parser


if __name__ == "__main__":
    run()

"""The files and the parsers of commands."""

import argparse
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeAlias

from app.core.errors import InputError, sentence
from app.core.line_reader import short_lines

STANDARD = "-"
_LONGEST = 1 << 16  # bytes of a line that is looked at


@contextmanager
def source_of(name: str) -> Iterator[BinaryIO]:
    """The file *name*, or standard input."""
    if name == STANDARD:
        yield sys.stdin.buffer
        return
    try:
        with Path(name).open("rb") as file:
            yield file
    except BrokenPipeError:  # of the output
        raise
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from error


@contextmanager
def output(name: str) -> Iterator[BinaryIO]:
    """The file *name*, which appears only when it is complete."""
    if name == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    partial = Path(f"{name}.partial")
    try:
        with partial.open("wb") as file:
            yield file
        partial.replace(name)
    except OSError as error:
        raise InputError(f"{name} cannot be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)


def line_count(source: BinaryIO, name: str) -> int | None:
    """The lines of *source* that are not blank, if it can be rewound; it then is."""
    if name == STANDARD or not source.seekable():
        return None
    count = sum(1 for line in short_lines(source, _LONGEST) if line is None or line.strip())
    source.seek(0)
    return count


_ENDINGS = (".json", ".toml", ".sh", ".txt", ".args", ".yaml", ".yml", ".py", ".bin")
_FOLDERS_FILE = "config.json"  # of a model from Hugging Face
_LONGEST_PATH = 250  # letters: no text of that length fails as the name of a file


def record_text(text: str) -> str:
    """*text*, or what is in the file that it names; in a folder, that is its config.json.

    Raises:
        InputError: it looks like a file, and none can be read.
    """
    if len(text) > _LONGEST_PATH or "\n" in text or "{" in text:
        return text
    path = Path(text)
    if path.is_dir() and (path / _FOLDERS_FILE).is_file():
        path = path / _FOLDERS_FILE
    if not path.is_file():
        if text.lower().endswith(_ENDINGS):
            raise InputError(f"{text} does not exist")
        return text
    return _read_configuration(path)


def _read_configuration(path: Path) -> str:
    from app.core.formulas.configurations import CONFIGURATION_LIMIT  # here: few commands need formulas

    try:
        with path.open("rb") as file:
            found = file.read(CONFIGURATION_LIMIT + 1)
        if len(found) > CONFIGURATION_LIMIT:
            raise InputError(f"{path} has more than {CONFIGURATION_LIMIT >> 10} KiB")
        return found.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        if path.suffix in (".bin", ".pt", ".pth", ".ckpt"):
            says = f"{path} is a pickle of PyTorch, which is not opened: give the YAML of the run, or its arguments"
            raise InputError(says) from error
        raise InputError(f"{path} is not text: {error.reason}") from error


CommandParsers: TypeAlias = "argparse._SubParsersAction[ArgumentParser]"
# What adds the options of a command, and what runs it.
Command: TypeAlias = tuple[Callable[[ArgumentParser], None], Callable[[Namespace], int]]
Commands: TypeAlias = Mapping[str, Command]  # of a module that has several


def add_command(commands: CommandParsers, name: str, says: str) -> ArgumentParser:
    """The parser of the command *name*, described by *says* in the list and in its own help."""
    return commands.add_parser(name, help=says, description=sentence(says))


def add_actions(parser: ArgumentParser) -> CommandParsers:
    """The list of actions of a command, to which each is added."""
    return parser.add_subparsers(dest="action", required=True, metavar="ACTION")


def add_output(parser: ArgumentParser, name: str) -> None:
    """The option that says where to write, which is a file such as *name*."""
    parser.add_argument("-o", "--output", metavar=name, default="-", help="default: standard output")


def write_rows(rows: Sequence[Sequence[str]]) -> None:
    """Print *rows* as columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write("  ".join(cells).rstrip() + "\n")

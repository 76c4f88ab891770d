"""What is in a text: tables of nccl-tests, lines of training logs, in any mixture."""

from collections.abc import Sequence
from pathlib import Path

from app.errors import InputError
from app.measurements.packed_files import text_lines
from app.measurements.readers import TEXT_READERS, TextReader
from app.measurements.reports import CollectiveTest, TrainingLog


def from_text(path: Path) -> list[CollectiveTest | TrainingLog]:
    """The tests and logs in *path*.

    Raises:
        InputError: it has neither.
    """
    readers = [reader() for reader in TEXT_READERS]
    takes, cut = [reader.take for reader in readers], ""
    try:
        for line in text_lines(path):
            for take in takes:
                if take(line):
                    break
    except InputError as error:
        cut = str(error)
    trouble = cut.replace(path.name, "the file", 1)  # a report names no file
    found = [report for reader in readers for report in reader.reports(trouble)]
    if not found:
        raise InputError(cut or _refusal(path.name, readers))
    return found


def _refusal(name: str, readers: Sequence[TextReader]) -> str:
    """Why nothing was found: a tool that is known and not read, or what is expected."""
    missing = " and ".join(f"no {one.looks}" for one in TEXT_READERS if one.looks)
    seen = next((one.refusal for one in readers if one.refusal), "")
    about = f"looks like a log of {seen}, which is not read; it" if seen else ""
    return " ".join(filter(None, (name, about, f"has {missing}")))

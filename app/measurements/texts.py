"""What is in a text: tables of nccl-tests, lines of training logs, in any mixture."""

from pathlib import Path

from app.errors import InputError
from app.measurements.packed_files import text_lines
from app.measurements.readers import TEXT_READERS
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
        missing = " and ".join(f"no {one.looks}" for one in TEXT_READERS if one.looks)
        raise InputError(cut or f"{path.name} has {missing}")
    return found

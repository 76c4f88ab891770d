"""What is in a text: tables of nccl-tests, lines of training logs, in any mixture."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from app.core.errors import InputError
from app.core.measurements.packed_files import text_lines, unwrapped_lines
from app.core.measurements.readers import TEXT_READERS, TextReader
from app.core.measurements.reports import CollectiveTest, TrainingLog


def from_text(path: Path) -> list[CollectiveTest | TrainingLog]:
    """The tests and logs in *path*; where there are none, in its lines put together again.

    Raises:
        InputError: it has neither.
    """
    readers = [reader() for reader in TEXT_READERS]
    cut = _read_lines(text_lines(path), readers)
    trouble = cut.replace(path.name, "the file", 1)  # a report names no file
    found = _reports(readers, trouble)
    if not any(map(_has_numbers, found)) and not cut and (lines := unwrapped_lines(path)):
        again = [reader() for reader in TEXT_READERS]
        _read_lines(lines, again)
        whole = _reports(again, "the lines were cut at one width, and are put together here")
        found = whole if any(map(_has_numbers, whole)) else found
    if not found:
        raise InputError(cut or _refusal(path.name, readers))
    return found


def _read_lines(lines: Iterable[str], readers: Sequence[TextReader]) -> str:
    """Give each line to the first reader that takes it; why there were no further ones."""
    takes = [reader.take for reader in readers]
    try:
        for line in lines:
            for take in takes:
                if take(line):
                    break
    except InputError as error:
        return str(error)
    return ""


def _reports(readers: Sequence[TextReader], trouble: str) -> list[CollectiveTest | TrainingLog]:
    return [report for reader in readers for report in reader.reports(trouble)]


def _has_numbers(report: CollectiveTest | TrainingLog) -> bool:
    return isinstance(report, TrainingLog) or bool(report.rows)


def _refusal(name: str, readers: Sequence[TextReader]) -> str:
    """Why nothing was found: a tool that is known and not read, or what is expected."""
    missing = " and ".join(f"no {one.looks}" for one in TEXT_READERS if one.looks)
    seen = next((one.refusal for one in readers if one.refusal), "")
    about = f"looks like {seen}; it" if seen else ""
    return " ".join(filter(None, (name, about, f"has {missing}")))

"""The faults that ranks report: how they read, what they are, and what to do about them."""

import re
from functools import cache
from pathlib import Path

from app.core.yaml_file import read_document
from app.labs.spec import FrozenModel

_TABLE = Path(__file__).with_suffix(".yaml")
_LONGEST = 300  # characters of a text that is quoted


class Advice(FrozenModel):
    """What a fault is, in words that go on after the name of a rank, and its cure."""

    what: str
    cure: str

    @property
    def says(self) -> str:
        """Both."""
        return f"{self.what}. {self.cure}"


class Fault(Advice):
    """A fault, and the pattern by which its text is known."""

    pattern: re.Pattern[str]


class Faults(FrozenModel):
    """The contents of `faults.yaml`."""

    causes: tuple[Fault, ...]
    vague: tuple[Fault, ...]
    consequences: tuple[Fault, ...]
    hang: Advice


@cache
def known_faults() -> Faults:
    """The table of faults."""
    return Faults.model_validate(read_document(_TABLE).values)


def cause_in(text: str) -> str:
    """The fault that *text* reports, quoted, and its cure; empty if it names none."""
    return _first(known_faults().causes, text)


def vague_cause_in(text: str) -> str:
    """The same for faults whose texts say little."""
    return _first(known_faults().vague, text)


def consequence_in(text: str) -> str:
    """How the loss of another rank showed itself in *text*; empty if it did not."""
    return _first(known_faults().consequences, text)


def fault_cure(text: str) -> str:
    """The cure of the fault that *text* reports; empty if it names none."""
    return next((fault.cure for fault in known_faults().causes if fault.pattern.search(text)), "")


def _first(faults: tuple[Fault, ...], text: str) -> str:
    for fault in faults:
        if found := fault.pattern.search(text):
            line = " ".join(found.group().split()).strip(" .")
            return f"{fault.what} ({line[:_LONGEST]}{'...' if len(line) > _LONGEST else ''}). {fault.cure}"
    return ""

"""What to tell a learner of a run that did not return; their own text goes into code spans."""

import re

from app.sandbox.execution import Outcome, Raised, Returned, Stopped

_LONGEST = 300
_STOPPED = {
    "time": "It did not end within the time limit: is there a loop that never ends?",
    "memory": "It wanted more memory than there is.",
    "stack": "It called itself too deeply: does the recursion ever end?",
    "too large": "What it printed or returned is too large.",
    "refused": "It tried something that is not allowed here.",
    "lost": "The run was lost by the server.",
}
_MISSING = re.compile(r"no function called (?P<name>\w+) is defined")


def code_span(text: str) -> str:
    """*text* as Markdown code, whatever it contains."""
    line = " ".join(text.split())
    line = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
    ticks = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    space = " " if "`" in line else ""
    return f"{ticks}{space}{line}{space}{ticks}" if line else ""


def place_of(index: int, count: int) -> str:
    """Which call of how many."""
    return f"Call {index + 1} of {count}"


def kind_of(outcome: Outcome) -> str:
    """A word for what came instead of a value."""
    return outcome.type if isinstance(outcome, Raised) else "nothing"


def in_line(outcome: Outcome) -> int | None:
    """The line at fault in the learner's source, where there is one."""
    return outcome.line if isinstance(outcome, Raised) else None


def says_of(outcome: Outcome) -> str:
    """What happened, in one sentence of Markdown."""
    match outcome:
        case Raised(kind, message, line):
            return _raised(kind, message, line)
        case Stopped(reason):
            return _STOPPED[reason]
        case Returned():
            return "It returned a value."


def _raised(kind: str, message: str, line: int | None) -> str:
    # A learner may call an exception so, too; then it says this of a name, and nothing else.
    if kind == "Missing" and (found := _MISSING.fullmatch(message)):
        return f"No function called {code_span(found['name'])} is defined."
    where = f"Line {line}: " if line else ""
    what = f"{kind}: {message}" if message else kind
    return f"{where}{code_span(what)}"

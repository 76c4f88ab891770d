"""A step whose numbers may go on in the next lines: below it, or where a terminal cut its line."""

import re
from dataclasses import dataclass, replace

from app.core.measurements.logs.families import LogFamily
from app.core.measurements.logs.fields import LineNumbers, line_numbers
from app.core.measurements.logs.line_clock import has_date, line_source

_LONGEST = 1 << 13  # characters of a line that was wrapped
_MOST_BELOW, _MOST_WRAPPED = 96, 8  # lines
_HEAD = 80  # characters that tell whether a line is one of its own
_OWN = re.compile(r"\.{3,}|\bINFO\b|\bWARN|\bStep Time\b|^\W{0,3}[\"']?(?:loss|train_runtime)[\"']?: ")
_NAMED = re.compile(r"[\w)\]]\s?[:=]\s*[\d.]|\|")
# What a launcher, a container or a page puts before each line: a part of a line has it, too.
_PREFIXES = tuple(
    re.compile(form)
    for form in (
        r"\d{1,9}[:\t]\s?",
        r"\[[^\]\s]{1,40}\](?:<\w{3,6}>)?:?\s?",
        r"[a-z][\w./-]{0,30}:\s",
        r"[>|+]\s",
        r"\([^)]{1,40}\)\s",
    )
)


@dataclass(slots=True)
class OpenStep:
    """The lines of a step so far."""

    family: LogFamily
    pieces: list[str]
    left: int

    @classmethod
    def of(cls, family: LogFamily, line: str) -> "OpenStep":
        """The step that begins with *line*."""
        return cls(family, [line], _MOST_BELOW if family.below else _MOST_WRAPPED)

    def goes_on(self, line: str) -> bool:
        """Whether *line* is a part of the step; it is kept if so."""
        line = self._without_prefix(line)
        if self.left <= 0 or not line.strip() or _is_own(line):
            return False
        if not self.family.below and not self._is_rest(line):
            return False
        self.pieces.append(line)
        self.left -= 1
        return True

    def _without_prefix(self, line: str) -> str:
        for form in _PREFIXES:
            if form.match(self.pieces[0]) and (found := form.match(line)):
                return line[found.end() :]
        return line

    def _is_rest(self, line: str) -> bool:
        """Whether *line* can be the rest: of a number, of named numbers, or behind a joint."""
        before = self.pieces[-1]
        if before[-1:].isdigit() and re.match(r"[\d.,]", line):
            return True
        named = bool(_NAMED.search(line)) and not self.family.companion  # whose lines are short
        return named or before.rstrip()[-1:] in {"|", ",", ":", "="}

    def numbers(self) -> LineNumbers:
        """The numbers of the lines together: cut anywhere, or between words."""
        scale, pieces = self.family.mfu_scale, self.pieces
        if len(pieces) == 1:
            return line_numbers(pieces[0], scale)
        joint = "|".join(pieces) if self.family.below else "".join(pieces)
        found = line_numbers(joint[:_LONGEST], scale)
        if self.family.below:
            return found
        spaced = line_numbers(" ".join(map(str.strip, pieces))[:_LONGEST], scale)
        values = {**spaced.values, **found.values}
        odd = {name: text for name, text in found.odd.items() if name not in values}
        return LineNumbers(values, odd)

    def numbers_without_last(self) -> LineNumbers | None:
        """The numbers but one with which the last line ends, as it may go on; None without one."""
        last = self.pieces[-1]
        whole = re.sub(r"[\d.,]+$", "", last)
        if whole == last:
            return None
        kept = replace(self, pieces=[*self.pieces[:-1], whole]).numbers()
        return LineNumbers(kept.values, {})


def _is_own(line: str) -> bool:
    """Whether *line* is one of its own: with a day, a rank, or as no part of a step is."""
    head = line[:_HEAD]
    return bool(has_date(head) or line_source(head) or _OWN.search(head))

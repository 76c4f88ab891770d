"""A family of training logs: how a line of a step looks, and what its numbers mean."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFamily:
    """What one framework prints for a step.

    *step* finds a line of a step. Its groups are the number, `step`; or `epoch`, `within` and
    `total` of an epoch, of which the number follows; `total` tells two runs apart; `micro` counts
    the micro-batches of which a step is the sum. *below*: the numbers are on the lines that follow.
    *companion*: a library that prints beside another family, whose run it shares. *mfu_scale* is
    that of an MFU without a percent sign, and *mfu_of* says what it divides by where that is known
    to be wrong. *rate_fault* is what is known to be wrong with a rate of samples. *sample* is text
    of it with its *source*.
    """

    name: str
    title: str
    step: re.Pattern[str]
    sample: str
    source: str
    stack: str = ""  # families that share one count of steps, by the name of one of them
    rank: int = 5  # of several families that match a line, and whose numbers count: the lowest
    below: bool = False
    companion: bool = False
    printed_once: bool = False  # by one rank: the same step with other numbers is of another run
    settings_of: tuple[str, ...] = ()  # families whose lines of settings stand above its steps
    mfu_scale: float = 0.0
    mfu_of: str = ""
    mfu_peak: float = 0.0  # by which every MFU of the family divides
    rate_fault: str = ""

    @property
    def counter(self) -> str:
        """The name of the count of steps: each companion has its own."""
        return self.step.pattern if self.companion else self.stack or self.name

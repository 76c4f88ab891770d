"""Notes on runs, which are stored in English, in the current language.

A note is recognized by its form. One of an earlier version stays known, since the runs that have it
do.
"""

import re
from functools import cache
from itertools import chain, zip_longest

from app.core.translation import SOURCE, language, noted, translate, translate_known
from app.labs.results.disturbance import DOUBTS
from app.labs.results.pairs import PAIR_NOTES

_FIELD = re.compile(r"\{(\w+)\}")
_LONGEST = 1_000  # characters of a note that is recognized
_FORMS = (
    noted("{name} has no prediction: {trouble}."),
    noted("Over gloo, between processes of one machine, expect a factor of two from run to run."),
    noted("Over gloo, between processes of one machine: expect a factor of two from run to run."),
    noted("Over gloo, over the network of {nodes} nodes, expect a factor of two from run to run."),
    noted(
        "At {late} of {points} points the machine was too slow or too busy to emulate the link: "
        "messages arrived later than they should have."
    ),
    noted(
        "The machine was too slow or too busy for the emulated link at {late} of {points} points: "
        "their messages came later than they should."
    ),
    noted(
        "From {least} to {most}, the best fit to the medians is {latency} + size / {bandwidth}, "
        "with a median error of {error} %."
    ),
    noted("The clock of rank {rank}'s GPU was held down {why}: at its highest, it is faster."),
    noted("Slurm could run other jobs on the same node, and they share its memory, its switches and its network."),
    noted("On processors, over gloo: {why}."),
    noted("Rank {rank}: number {number}, {collective}, started."),
    noted("Rank {rank}: number {number}, {collective}, completed."),
    noted("The time for {size} is far off all others, so it is left out of the fit."),
    noted("Rank {rank} was interrupted {count} times per second by other processes."),
    *DOUBTS,
    *PAIR_NOTES,
)


def localized_note(text: str) -> str:
    """The stored note *text* in the current language, if it has a known form."""
    if language() == SOURCE or len(text) > _LONGEST:
        return text
    for form in _FORMS:
        if found := _pattern(form).fullmatch(text):
            values = {name: translate_known(value) for name, value in found.groupdict().items()}
            return translate(form, **values)
    return text


@cache
def _pattern(form: str) -> re.Pattern[str]:
    """What matches the notes of this *form*: between its names, the text is as it is."""
    fixed, names = _FIELD.split(form)[::2], _FIELD.findall(form)
    groups = (f"(?P<{name}>.+?)" for name in names)
    return re.compile("".join(chain(*zip_longest(map(re.escape, fixed), groups, fillvalue=""))), re.DOTALL)

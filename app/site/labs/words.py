"""A lab and the notes on its runs in the language of a page."""

import re
from collections.abc import Mapping
from functools import cache
from itertools import chain, zip_longest

from app.core.translation import SOURCE, language, noted, translate, translate_known
from app.labs.results.notes import PAIR_NOTES
from app.labs.results.report import DOUBTS
from app.labs.spec import Lab, MeasuredQuantity, Parameter

_WORDS = ("title", "summary", "question")
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


def translate_lab(lab: Lab) -> Lab:
    """*lab* with its words in the current language."""
    if language() == SOURCE:
        return lab
    given: dict[str, object] = {name: _said(getattr(lab, name)) for name in _WORDS}
    parts: dict[str, Mapping[str, Parameter | MeasuredQuantity]]
    parts = {"parameters": lab.parameters, "measures": lab.measures}
    for name, ones in parts.items():
        given[name] = {key: one.model_copy(update={"says": _said(one.says)}) for key, one in ones.items()}
    given["gpu"] = translate_lab(lab.gpu) if lab.gpu else None
    return lab.model_copy(update=given)


def lab_sentences(lab: Lab) -> set[str]:
    """What is translated: the sentences of *lab* and of its form for GPUs."""
    found = {lab.processors_only, *(str(getattr(lab, name)) for name in _WORDS)}
    found |= {one.says for one in lab.parameters.values()} | {one.says for one in lab.measures.values()}
    found |= {name for one in lab.measures.values() for name in one.derived}
    if lab.gpu:
        found |= lab_sentences(lab.gpu)
    return {word.strip() for word in found if word.strip()}


def _said(text: str) -> str:
    return translate(text.strip()) if text.strip() else text

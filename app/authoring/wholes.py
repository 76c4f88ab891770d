"""Numbers of things that come whole: nobody rents two thirds of a GPU."""

import re
from collections.abc import Iterator

from app.authoring.texts import Script
from app.course.kinds import Finding
from app.course.kinds.answer_key import AnswerKey
from app.course.kinds.numeric import ONLY, Numeric

_THINGS = r"(?:GPUs?|TPUs?|[HBA]\d00s?|replicas?|pods?|nodes?|servers?|racks?|hosts?|machines?|NICs?)"
_ASKED = re.compile(rf"\A(?:The )?(?:number of |fewest |least |most )?{_THINGS}(?![\w-])", re.IGNORECASE)
_HOW_MANY = re.compile(rf"\bhow many (?:\w+ )?{_THINGS}(?![\w-])", re.IGNORECASE)
_MEAN = re.compile(r"\b(?:average|mean|expected?|relative|share|before rounding)\b", re.IGNORECASE)
_UNITS = ("GPUs", "nodes")
_SAME = 1e-9


def prove_wholes(script: Script) -> Iterator[Finding]:
    """Each answer that asks for a number of things, and is a fraction of them in some drawing."""
    exercise = script.exercise
    if not isinstance(exercise, Numeric):
        return
    found = set[str]()
    for drawn in script.drawings:
        for name, key in exercise.keys(drawn.seed).items():
            value = key.right / key.asked.scale.factor
            if name not in found and _counts_things(exercise, key) and not _is_whole(value):
                found.add(name)
                says = f"is {key.asked.shown(key.right)}: these come whole"
                cure = "round it, as in ceil(...), or ask for the number on average"
                yield Finding(("answer",) if name == ONLY else ("answers", name), says, cure)


def _counts_things(exercise: Numeric, key: AnswerKey) -> bool:
    text = key.asked.prompt or exercise.prompt
    if _MEAN.search(text):
        return False
    asks = _ASKED.search(text) if key.asked.prompt else _HOW_MANY.search(text)
    return key.asked.unit in _UNITS or (asks is not None and not key.asked.unit)


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) <= _SAME * max(1.0, abs(value))

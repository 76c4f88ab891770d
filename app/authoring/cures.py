"""Cures for findings that come without one."""

import re
from collections.abc import Mapping
from dataclasses import replace

from app.course.kinds import Exercise, Finding
from app.course.kinds.schema_errors import cure_of_unit, unit_cure

_WORDS = "known names are those in given, cases and let, earlier answers, and formulas"
_CURES: Mapping[str, str] = {
    r"is not known here": _WORDS,
    r"no (?:function|formula) is called": "/authoring lists the functions, /formulas the formulas",
    r"not a finite number|has no value at": "draw values for which it has one, or say `where`",
    r"are of different kinds|and the answer is in|mixed unit|the answer is a": (
        "check the units of what is added and divided, or change `unit`"
    ),
    r"takes (?:only|.* as .*, not)|is given .* twice|needs one of|returns one value": (
        "its arguments are in /formulas"
    ),
    r"this is not a configuration": "paste all of it, or copy an address of /explore/fit",
    r"\{end\} is missing|may not come after": "write {when a > b}…{otherwise}…{end}",
    r"is not a comparison": "write a comparison: ranks <= 64",
    r"no values of the symbols meet": "widen a range of `symbols`, or loosen `sense`",
    r"does not meet|no drawing meets": "loosen `where`, or put values that meet it first",
    r"is not valid LaTeX": "LaTeX between $ signs; a price is written \\\\$5",
    r"every option is right|reads the same as": "change or remove one of the options",
    r"the `when` of no option holds": "give one option a `when` that holds for the rest: 1 == 1",
    r"any order is right|are not written in an order": "say under `after` what comes before",
    r"have a sentence under": "add says: to a thing, with a wrong partner and its feedback",
    r"no choice meets": "loosen a condition, or offer other values to choose from",
    r"ways to choose": "offer fewer values, or fewer things to choose",
    r"has the same values as|cannot be told apart": "remove one of them",
    r"does not equal the answer": "correct the answer, or the reference",
    r"does not get its feedback, but": "another has the same values: remove it, or add arguments",
    r"ranks are not 2 to|reaches the target layout": "change `mesh`, or the layouts",
    r"does not accept its own answer|accepts the mistake|does not get": (
        "try it in wallclock preview; two mistakes may have the same value"
    ),
    r"the right program|the right code fails": "run it on these arguments",
    r"does not measure": "wallclock lab list --json shows what it measures",
    r"no lab is called|parameter": "wallclock lab list shows the labs and their parameters",
    r"has no control|no explorer is called|is the (?:largest|smallest)|has figures": (
        "open it under /explore and copy its address"
    ),
    r"[{].*[}]: |[{].*[}] is .*, not in": "write {name}, or {name | unit} in a unit of its kind",
    r"passes every drawn call": "add arguments to `calls` for which it differs",
    r"raises .*, which its symptom": "name the exception in `symptom`, or use {symptom}",
    r"no change of one line|no bugs can be drawn": "list `bugs` yourself, or draw more calls",
    r"should give a whole number": "round it, or draw values for which it is whole",
    r"no exhibit is called": "its name is that of a file shown under /measured",
    r"cannot be spread|on one node|on processors only|has more than|takes at most|not a range": (
        "wallclock lab list shows the labs and their parameters"
    ),
    r"has no layout|a copy of the model|data-parallel ranks|has no field": (
        "open it under /explore and copy its address"
    ),
    r"too long|too many|too deeply": "name parts of it under `let`",
    r"must be|must divide|the result is too large|exponent|not a real number": (
        "draw values inside its domain, which /formulas shows, or say `where`"
    ),
    r"also needs| takes ": "its arguments are in /formulas",
    r"has no value|log takes|in quotes|function takes|cannot read|is missing before|is missing$|"
    r"does not belong here|is not a number|without|parentheses": (
        "write it as 2 * size * (ranks - 1) / ranks; /authoring lists the functions"
    ),
    r"has no": "wallclock lab list shows the labs and their parameters",
    r"the result is (?:in|a)|the answer is": "check the units, or change `unit`",
}
_ELSE = "compare it with the sample of its kind in /authoring"
_NAME = re.compile(r"'([^']+)' is not known here")


def cured(finding: Finding, exercise: Exercise | None = None) -> Finding:
    """*finding* with a cure, if one is known."""
    if exercise is not None and (circular := _circular(finding, exercise)):
        return circular
    if finding.cure:
        return finding
    if finding.where[:1] in (("given",), ("cases",)) and (found := _NAME.search(finding.says)):
        return replace(finding, cure=f"{cure_of_unit(found[1])}; {_WORDS}")
    return replace(finding, cure=unit_cure(finding.says) or finding_cure(finding.says) or _ELSE)


def finding_cure(says: str) -> str:
    """The cure for what a finding *says*, if one is known."""
    return next((cure for part, cure in _CURES.items() if re.search(part, says)), "")


def _circular(finding: Finding, exercise: Exercise) -> Finding | None:
    """A clearer finding for a value that depends on itself, or on one computed after it."""
    found = _NAME.search(finding.says)
    if not found or found[1] not in exercise.worked_out:
        return None
    says = f"{found[1]!r} depends on itself, or is used before it is worked out"
    seed = re.match(r"seed \d+[^:]*: ", finding.says)
    cure = f"move {found[1]} up: let goes from top to bottom, and then the answers"
    where = ("let", found[1]) if found[1] in exercise.let else finding.where
    return Finding(where, f"{seed[0] if seed else ''}{says}", cure)

"""Plain English: habits that were mended once do not come back.

A pattern of `NEVER` is found nowhere.
"""

import re
from collections.abc import Iterator

import pytest

from app.core.folders import ROOT
from tests.each import each

FILES = [
    path
    for folder, ends in {
        "app": "*.py", "templates": "*.*", "exercises": "*.yaml", "static": "*.js", "alembic": "*.py",
    }.items()
    for path in sorted((ROOT / folder).rglob(ends))
    if not {"vendor", "bundle", "recorded"} & set(path.parts)
    if "." not in path.stem or folder != "exercises"  # a translation
] + [*sorted(ROOT.glob("*.md"))]  # fmt: skip
# What is written, and what it should say. Upper and lower case are alike.
NEVER = {
    r"\b(whilst|amongst|learnt|spelt)\b": "while, among, learned, spelled",
    r"\b(allow|permit|enable)s? to [a-z]+\b": "lets you, or the noun: allows counting",
    r"\b(informations|softwares|feedbacks|trainings|advices)\b": "it has no plural",
    r"\b(discuss about|consist(s|ed) in|depends? from)\b": "discuss, consist of, depend on",
    r"\b(programme|artefact|licence|catalogue|dialogue|tonne)s?\b": "American spelling",
    r"\b(analys|paralys|catalys)(e|ed|ing)\b": "-yze",
    r"\bof it all\b": "total",
    r"\bfor the asking\b": "on request",
    r"\b(is|may be) had\b": "is available",
    r"\bputs? back\b": "restore",
    r"\bthat (is|are) (?-i:none)\b": "that is not one",
    r"(?<!there )(?<!why )\b(is|are) no (?!longer|more|less|matter)[a-z]": "is not a",
    r"\ban? [a-z]{3,} an? [a-z]{3,}\b": "one A per B",
    r"\bwants\b|\b(is|are|was|were) wanted\b": "requires, required, expected",
    r"\banew\b": "again",
    r"\b(whoever|somebody)\b": "anyone, the caller, the learner",
    r"(?<!link) in all\b(?! its)(?!-)": "total",
    r"\bso many\b": "that many",
    r"\bcomes? to\b(?! (an end|its end))": "is",
    r"\bdata sheets?\b": "datasheet",
    r"\b(colou?r(?<=colour)|neighbour|behaviour|favour)(s|ing|ed|al)?\b": "-or",
    r"\b(grey|centre|fibre|judgement|maths)\b": "gray, center, fiber, judgment, math",
    r"\b(label|model|travel|signal)l(ed|ing)\b": "one l",
    r"\b(optim|minim|maxim|normal|initial|organ|synchron|serial)is(e|es|ed|ing|ation)\b": "-ize",
}


def found(pattern: str) -> Iterator[str]:
    search = re.compile(pattern, re.IGNORECASE).search
    for path in FILES:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if search(line):
                yield f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"


@pytest.mark.sweep
@each("pattern", NEVER)
def test_a_habit_that_was_mended_does_not_come_back(pattern: str) -> None:
    assert list(found(pattern)) == [], f"better: {NEVER[pattern]}"


def test_a_line_is_named_with_its_file() -> None:
    first = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[0]
    assert f"README.md:1: {first}" in list(found(re.escape(first)))

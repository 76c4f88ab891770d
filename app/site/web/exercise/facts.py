"""The facts of a chapter beside its exercises: formulas and constants, and never the answer."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.core.formulas import FORMULAS
from app.course.content.catalog import Topic
from app.course.content.topic_file import ChapterFact
from app.course.kinds import Exercise
from app.site.web.urls import formula_url

_NUMBER = re.compile(r"\d[\d.,]*")


@dataclass(frozen=True, slots=True)
class FactView:
    """A fact, and the page that explains it."""

    name: str
    says: str
    href: str


def facts_beside(exercise: Exercise, topic: Topic, seed: int) -> Iterator[FactView]:
    """The facts of *topic* that do not give *exercise* away, as *seed* draws it.

    A formula is left out if the exercise builds on it or on one of the same module, or if it asks
    for anything but numbers; a constant, if it is an answer.
    """
    used = {_module(name) for name in exercise.dotted if name in FORMULAS}
    telling = exercise.telling(seed) if exercise.asks_for_numbers else set()
    for fact in topic.facts:
        if fact.formula and (not exercise.asks_for_numbers or _module(fact.formula) in used):
            continue
        if telling.isdisjoint(_NUMBER.findall(fact.says)):
            yield FactView(fact.name, fact.says, _href(fact))


def _module(formula: str) -> str:
    return FORMULAS[formula].function.__module__


def _href(fact: ChapterFact) -> str:
    return formula_url(fact.formula) if fact.formula else fact.see

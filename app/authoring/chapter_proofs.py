"""Proof of a chapter's own texts: what they link to, and what the chapter builds on."""

from collections.abc import Iterator

from app.authoring.addresses import Places, trouble_of_addresses
from app.authoring.prose import prove_shape_of
from app.authoring.reading_proofs import prove_reading_questions
from app.core.errors import nearest
from app.core.formulas import FORMULAS
from app.course.content.topic_file import TopicFile
from app.course.kinds import Finding, Where
from app.site.markdown import MathematicsError, check_mathematics


def prove_chapter(topic: TopicFile, own: str, places: Places) -> Iterator[Finding]:
    """Everything wrong with the texts, the facts and the place of the chapter called *own*."""
    yield from _prove_facts(topic, places)
    yield from _prove_place(topic, own, places)
    yield from prove_text(("opening",), topic.opening, places)
    yield from prove_text(("closing",), topic.closing, places)
    for index, asked in enumerate(topic.questions):
        where: Where = ("questions", index)
        yield from prove_text((*where, "prompt"), asked.prompt, places)
        yield from prove_text((*where, "says"), asked.says, places)
    yield from prove_reading_questions(topic)


def prove_text(where: Where, text: str, places: Places) -> Iterator[Finding]:
    """Everything wrong with a Markdown *text* that no drawing fills."""
    try:
        check_mathematics(text)
    except MathematicsError as error:
        yield Finding(where, str(error))
    yield from prove_shape_of(where, text)
    for says, cure in trouble_of_addresses(text, places):
        yield Finding(where, says, cure)


def _prove_facts(topic: TopicFile, places: Places) -> Iterator[Finding]:
    """Facts whose formula or page does not exist."""
    for index, fact in enumerate(topic.facts):
        where: Where = ("facts", index)
        if fact.formula and fact.formula not in FORMULAS:
            says = f"no formula is called {fact.formula!r}{nearest(fact.formula, FORMULAS)}"
            yield Finding(where, says)
        if fact.see:
            for says, cure in trouble_of_addresses(f"[page]({fact.see})", places):
                yield Finding(where, says, cure)


def _prove_place(topic: TopicFile, own: str, places: Places) -> Iterator[Finding]:
    """Needs without a chapter, and a placement question without an exercise in this one."""
    others = sorted(places.chapters - {own})
    for index, name in enumerate(topic.needs):
        if name not in others:
            says = f"no other chapter is called {name!r}{nearest(name, others)}"
            yield Finding(("needs", index), says)
    if topic.placement and f"{own}/{topic.placement}" not in places.exercises:
        mine = [one.partition("/")[2] for one in places.exercises if one.startswith(f"{own}/")]
        says = f"no exercise of it is called {topic.placement!r}{nearest(topic.placement, mine)}"
        yield Finding(("placement",), says, "write the name of its file without .yaml")

"""Everything on the site that can be found."""

import re
from collections.abc import Iterator

from app.content.catalog import Catalog
from app.content.errata import errata
from app.content.glossary import terms
from app.explorers import EXPLORERS
from app.formulas import FORMULAS
from app.labs.spec import known_labs
from app.translation import noted
from app.web.reference import trust_view as trust
from app.web.reference.docs import documentation
from app.web.reference.hardware import TABLES, anchor_of
from app.web.search.index import Index, SearchEntry
from app.web.urls import (
    chapter_url,
    erratum_url,
    exercise_url,
    explorer_url,
    formula_url,
    lab_url,
)

_MARKUP = re.compile(r"\$[^$]*\$|\{[^}]*\}|\]\([^)]*\)|[*`|#>\[]")
_PAGES = (
    (noted("Guess the step"), "/guess", noted("One question a day, the same for everyone.")),
    (
        noted("The best layout"),
        "/layouts",
        noted("Search all layouts of a model on a cluster for the fastest that fits."),
    ),
    (
        noted("Traces"),
        "/measured/traces",
        noted(
            "Read a trace of the PyTorch profiler: which toll a step pays, and what to try first."
        ),
    ),
    (noted("Progress"), "/progress", noted("What you have done: export, import and delete it.")),
    (
        noted("Write exercises"),
        "/authoring",
        noted("The format of exercise files, and a sample of each kind."),
    ),
    (noted("JSON interface"), "/api/docs", noted("Check answers from a program.")),
    (
        noted("Hardware and models"),
        "/hardware",
        noted("The values that formulas and exercises start from."),
    ),
    (trust.TITLE, "/trust", trust.SAYS),
)


def index_of(catalog: Catalog) -> Index:
    """The index of the site with that *catalog*."""
    return Index([*entries(catalog)])


def entries(catalog: Catalog) -> Iterator[SearchEntry]:
    """Everything on the site with that *catalog*."""
    yield from _course(catalog)
    yield from _reference()
    yield from _hardware()
    yield from _pages()


def _plain(text: str) -> str:
    """*text* without its Markdown, mathematics and drawn values."""
    return " ".join(_MARKUP.sub(" ", text).split())


def _course(catalog: Catalog) -> Iterator[SearchEntry]:
    for topic in catalog.topics:
        yield SearchEntry(
            kind="Chapter",
            title=topic.title,
            href=chapter_url(topic.id),
            says=topic.summary,
            keywords=topic.id,
            text=_plain(f"{topic.opening} {topic.closing}"),
        )
        for exercise in topic.exercises:
            yield SearchEntry(
                kind="Exercise",
                title=exercise.title,
                href=exercise_url(exercise.id),
                says=f"{topic.title} · {exercise.kind_title} · level {exercise.level}",
                keywords=f"{' '.join(exercise.skills)} {exercise.label}",
                text=_plain(exercise.prompt),
            )


def _reference() -> Iterator[SearchEntry]:
    for one in EXPLORERS.values():
        yield SearchEntry(
            kind="Explorer",
            title=one.title,
            href=explorer_url(one.name),
            says=_plain(one.summary),
            keywords=one.name,
            text=_plain(f"{one.question} {' '.join(one.formulas)}"),
        )
    for formula in FORMULAS.values():
        yield SearchEntry(
            kind="Formula",
            title=formula.name.partition(".")[2],
            href=formula_url(formula.name),
            says=formula.says,
            keywords=formula.module,
            text=formula.doc,
        )
    for key, term in terms().items():
        yield SearchEntry(
            kind="Term",
            title=term.term,
            href=f"/glossary#{key}",
            says=_plain(term.says),
            keywords=" ".join(term.also),
        )
    for erratum in errata():
        yield SearchEntry(
            kind="Erratum",
            title=erratum.title,
            href=erratum_url(erratum.id),
            says=f"{erratum.id} · “{erratum.said}”",
            keywords=f"{erratum.id} {erratum.said}",
            text=f"{erratum.claim} {erratum.right} {erratum.source}",
        )
    for lab in known_labs().values():
        yield SearchEntry(
            kind="Lab",
            title=lab.title,
            href=lab_url(lab.name),
            says=lab.summary,
            keywords=lab.name,
            text=_plain(f"{lab.question} {lab.explains}"),
        )


def _hardware() -> Iterator[SearchEntry]:
    for title, _, known in TABLES:
        for record in {id(record): record for record in known.values()}.values():
            names = [name for name, other in known.items() if other is record]
            yield SearchEntry(
                kind="Hardware",
                title=names[0],
                href=f"/hardware#{anchor_of(record)}",
                says=title,
                keywords=" ".join(names[1:]),
                text=str(getattr(record, "source", "")),
            )


def _pages() -> Iterator[SearchEntry]:
    for title, href, says in _PAGES:
        yield SearchEntry(kind="Page", title=title, href=href, says=says)
    for name, page in documentation().items():
        href = f"/docs/{name}"
        summary = page.summary.striptags()
        text = page.body.striptags()
        yield SearchEntry(kind="Page", title=page.title, href=href, says=summary, text=text)
        for section in page.sections:
            place = f"{href}#{section.id}"
            yield SearchEntry(kind="Page", title=section.title, href=place, says=page.title)

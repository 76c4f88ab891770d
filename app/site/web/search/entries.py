"""Everything on the site that can be found."""

import re
from collections.abc import Iterator
from dataclasses import replace

from app.core.formulas import FORMULAS
from app.core.translation import language, translate_known
from app.course.content.catalog import Catalog, Topic
from app.course.content.errata import errata, meaning, question_file, questions_of, terms
from app.course.explorers import explorer_pages
from app.labs.spec import known_labs
from app.server.config import Settings
from app.site.web.cache_files import index_file
from app.site.web.reference.docs import SITE_PAGES, documentation
from app.site.web.reference.formulas import TABLES, anchor_of
from app.site.web.search.index import Index, SearchEntry
from app.site.web.urls import chapter_url, erratum_url, exercise_url, explorer_url, formula_url, lab_url

_MARKUP = re.compile(r"\$[^$]*\$|\{[^}]*\}|\]\([^)]*\)|[*`|#>\[]")


def index_of(catalog: Catalog, settings: Settings | None = None) -> Index:
    """The index of the site with that *catalog*, in the current language, as an earlier start stored it if it did."""
    if settings is None or not catalog.digest:
        return Index([*entries(catalog)], question_file().words)
    file, key = index_file(catalog, settings)
    known = file.load(key)
    if isinstance(known, Index):
        return known
    index = Index([*entries(catalog)], question_file().words)
    file.store(key, index)
    return index


def entries(catalog: Catalog) -> Iterator[SearchEntry]:
    """Everything on the site with that *catalog*, in the current language."""
    for entry in (*_course(catalog), *_reference(), *_hardware(), *_pages()):
        yield replace(entry, questions=(*entry.questions, *questions_of(entry.href)))


def _plain(text: str) -> str:
    """*text* without its Markdown, mathematics and drawn values."""
    return " ".join(_MARKUP.sub(" ", text).split())


def _course(catalog: Catalog) -> Iterator[SearchEntry]:
    english = {topic.id: topic.title for topic in catalog.topics}
    for topic in catalog.spoken(language()).topics:
        yield _chapter(topic, english[topic.id])
        for exercise in topic.exercises:
            yield SearchEntry(
                kind="Exercise",
                title=exercise.title,
                href=exercise_url(exercise.id),
                says=f"{topic.title} · {exercise.kind_title} · level {exercise.level}",
                keywords=f"{' '.join(exercise.skills)} {exercise.label}",
                text=_plain(exercise.prompt),
            )


def _chapter(topic: Topic, english: str) -> SearchEntry:
    return SearchEntry(
        kind="Chapter",
        title=topic.title,
        href=chapter_url(topic.id),
        says=topic.summary,
        keywords=f"{' '.join(topic.folders)} {english if english != topic.title else ''}",
        text=_plain(f"{topic.opening} {topic.closing}"),
    )


def _reference() -> Iterator[SearchEntry]:
    for one in explorer_pages():
        yield SearchEntry(
            kind="Explorer",
            title=translate_known(one.title),
            href=explorer_url(one.name),
            says=_plain(translate_known(one.summary)),
            keywords=f"{one.name} {_english(one.title)}",
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
            title=translate_known(term.term),
            href=f"/glossary#{key}",
            says=_plain(meaning(term)),
            keywords=f"{' '.join(term.also)} {_english(term.term)}",
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
            title=translate_known(lab.title),
            href=lab_url(lab.name),
            says=translate_known(lab.summary),
            keywords=f"{lab.name} {_english(lab.title)}",
            text=_plain(f"{lab.question} {lab.explains}"),
        )


def _english(title: str) -> str:
    """*title*, where the current language has another one."""
    return title if translate_known(title) != title else ""


def _hardware() -> Iterator[SearchEntry]:
    for title, _, known in TABLES:
        for record in {id(record): record for record in known.values()}.values():
            names = [name for name, other in known.items() if other is record]
            yield SearchEntry(
                kind="Hardware",
                title=names[0],
                href=f"/hardware#{anchor_of(record)}",
                says=translate_known(title),
                keywords=" ".join(
                    (*names[1:], *(("FLOPS", "TFLOPS", "specs", "datasheet") if known is TABLES[0][2] else ()))
                ),
                text=str(getattr(record, "source", "")),
                questions=tuple(names[1:]),
            )


def _pages() -> Iterator[SearchEntry]:
    for title, href, says in SITE_PAGES:
        yield SearchEntry(
            kind="Page", title=translate_known(title), href=href, says=translate_known(says), keywords=_english(title)
        )
    for name, page in documentation().items():
        href = f"/docs/{name}"
        summary = page.summary.striptags()
        text = page.body.striptags()
        yield SearchEntry(kind="Page", title=page.title, href=href, says=summary, text=text)
        for section in page.sections:
            place = f"{href}#{section.id}"
            yield SearchEntry(kind="Page", title=section.title, href=place, says=page.title)

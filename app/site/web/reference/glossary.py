"""/glossary: the terms of the field."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from fastapi import Request, Response
from markupsafe import Markup

from app.core.translation import translate
from app.course.content.glossary import meaning, terms
from app.server.network.routes import Router
from app.site import Here
from app.site.markdown import inline_html
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.urls import chapter_url

router = Router()


@dataclass(frozen=True, slots=True, kw_only=True)
class GlossaryEntry:
    """One term."""

    key: str
    term: str
    also: tuple[str, ...]
    says: Markup
    chapter: Hyperlink | None


@dataclass(frozen=True, slots=True)
class Letter:
    """The terms that begin with the same letter; those with a figure come under 0–9."""

    name: str
    entries: tuple[GlossaryEntry, ...]


@router.get("/glossary")
async def glossary(request: Request, site: Here) -> Response:
    """Every term."""
    chapters = {topic.id: Hyperlink(chapter_url(topic.id), topic.title) for topic in site.catalog.topics}
    entries = tuple(
        GlossaryEntry(
            key=key, term=term.term, also=term.also, says=inline_html(meaning(term)), chapter=chapters.get(term.chapter)
        )
        for key, term in terms().items()
    )
    says = translate("The terms of distributed training, each in a sentence or two.")
    return render("reference/glossary.html", frame(request, translate("Glossary"), says), _letters(entries))


def _letters(entries: Sequence[GlossaryEntry]) -> tuple[Letter, ...]:
    """*entries*, which are in alphabetical order, by their first letter."""
    found = groupby(entries, key=lambda entry: _initial(entry.term))
    return tuple(Letter(name, tuple(those)) for name, those in found)


def _initial(term: str) -> str:
    first = term.removeprefix("the ")[0].upper()
    return first if first.isalpha() else "0–9"

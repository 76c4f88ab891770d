"""What is shown where the address of a page is shared: a picture, and plain words."""

import re

from app.core.charts.card import PictureCard
from app.site.web.frame.renderer import SharePreview
from app.site.web.urls import picture_url

_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z])")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_MARKS = re.compile(r"`|\*+(?=\S)|(?<=\S)\*+")


def preview_of(path: str, card: PictureCard) -> SharePreview:
    """What is shown where *path* is shared: a picture with *card* on it."""
    return SharePreview(path=path, picture=picture_url(path), alt=card.alt)


def plain_words(text: str) -> str:
    """The first paragraph of a Markdown *text* as plain words, without sentences of mathematics.

    >>> plain_words("Each rank sends **twice**. It is $x$. See [why](/why).")
    'Each rank sends twice. See why.'
    """
    first = text.strip().partition("\n\n")[0]
    if first.startswith(("```", "|", "#")):
        return ""
    sentences = (one for one in _SENTENCE.split(first) if "$" not in one)
    return " ".join(_MARKS.sub("", _LINK.sub(r"\1", " ".join(sentences))).split())


def first_sentence(text: str) -> str:
    """The first sentence of a Markdown *text* as plain words."""
    return _SENTENCE.split(plain_words(text))[0]

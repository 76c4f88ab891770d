import re
from collections.abc import Iterator

from fastapi.testclient import TestClient
from fontTools.ttLib import TTFont  # type: ignore[import-untyped]

from app.core.expressions import latex, parse_expression
from app.core.folders import ROOT
from app.core.formulas import FORMULAS
from app.course.content.catalog import Catalog
from app.site.markdown import html

_MATH = re.compile(r"<math.*?</math>", re.DOTALL)
_ANNOTATION = re.compile(r"<annotation.*?</annotation>", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
_ITALIC_H = "\N{PLANCK CONSTANT}"  # Unicode has no other italic h
# Drawn by the elements themselves, without standing in the text.
_DRAWN = {"msqrt": "√", "mover": "¯"}


def glyphs() -> set[int]:
    """What the font of formulas can draw."""
    return set(TTFont(ROOT / "static" / "fonts" / "math.woff2").getBestCmap())


def italic(letter: str) -> str:
    """What a browser draws for one letter in <mi>."""
    if letter == "h":
        return _ITALIC_H
    if "a" <= letter <= "z":
        return chr(0x1D44E + ord(letter) - ord("a"))
    if "A" <= letter <= "Z":
        return chr(0x1D434 + ord(letter) - ord("A"))
    if "α" <= letter <= "ω":
        return chr(0x1D6FC + ord(letter) - ord("α"))
    return letter


def drawn(page: str) -> Iterator[str]:
    """Every character that the formulas of *page* need."""
    for formula in _MATH.findall(page):
        bare = _ANNOTATION.sub("", formula)
        for single in re.findall(r"<mi>(.)</mi>", bare):
            yield italic(single)
        yield from re.sub(r"&\w+;", "&", _TAG.sub("", re.sub(r"<mi>.</mi>", "", bare)))
        yield from (sign for element, sign in _DRAWN.items() if f"<{element}" in bare)


def missing(page: str, known: set[int]) -> set[str]:
    return {char for char in drawn(page) if ord(char) not in known and not char.isspace()}


def test_the_font_draws_every_formula_of_the_course(catalog: Catalog, client: TestClient) -> None:
    known = glyphs()
    for topic in catalog.topics:
        page = str(html(topic.opening) + html(topic.closing))
        assert missing(page, known) == set(), topic.id
    for exercise in catalog.exercises:
        for seed in range(3):
            variant = exercise.variant(seed)
            texts = [variant.prompt, *variant.hints, variant.solution, exercise.reveal(seed)]
            assert missing(" ".join(str(html(text)) for text in texts), known) == set(), exercise.id
    for name in FORMULAS:
        assert missing(client.get(f"/formulas/{name}").text, known) == set(), name
    assert missing(client.get("/formulas").text, known) == set()


def test_the_font_draws_whatever_a_learner_may_type() -> None:
    known = glyphs()
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    signs = "1234567890.5 + 2 - 3 * 4 / 5 ^ 6 * sqrt(7) * abs(8) * ceil(9) * floor(1) * log2(2) * ln(3) * exp(4) * min(5, 6) * max(7, 8) * 9 %"
    for text in (*letters, signs):
        page = str(html(f"${latex(parse_expression(text, letters))}$"))
        assert "<math" in page
        assert missing(page, known) == set(), text


def test_sums_of_money_are_not_mathematics() -> None:
    text = "It costs $2.50/h, and **$5** or **$6**; with $x$ it is ($7/h), and $2 N B$ for $3."
    shown = str(html(text))
    assert len(_MATH.findall(shown)) == 2
    for money in ("$2.50/h", "$5", "$6", "$7/h", "$3"):
        assert money in _MATH.sub("", shown)


def test_an_empty_corner_of_a_table_is_no_header() -> None:
    assert "<tr>\n<td></td>\n<th>sent</th>" in html("| | sent |\n|---|---|\n| ring | 7 |\n")

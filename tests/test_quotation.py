"""Quotations: the text of a stranger, whatever it is, shown as it is and no longer than allowed."""

from html import unescape

import pytest

from app.core.quotation import LITERAL, LONGEST, code_span, escape_markdown, quote_value, shorten, visible
from app.core.simulators.programs.instructions import ScheduleError, read_program
from app.core.translation import localize, say, speaking, translate
from app.site.markdown import MathematicsError, check_mathematics, html, inline_html
from tests.each import each
from tests.hostile import TEXTS, troubles


@each("name", TEXTS)
def test_a_sentence_in_markdown_shows_the_text_and_makes_nothing_of_it(name: str) -> None:
    text = TEXTS[name]
    seen = visible(" ".join(text.split()))
    for before in ("", "It says: ", "a ", "[x]", "!", "1"):
        shown = html(before + escape_markdown(text))
        assert troubles(shown) == []
        read = shown.strip().removeprefix("<p>").removesuffix("</p>")
        assert unescape(read) == f"{before}{seen}".strip()
    shown = inline_html(f"it is {code_span(text)}.")
    assert troubles(shown) == []
    assert len(code_span(text)) <= 1_000


@each("name", TEXTS)
def test_a_quotation_is_one_literal_of_python_of_limited_length(name: str) -> None:
    for longest in (20, 60, LONGEST):
        found = quote_value(TEXTS[name], longest)
        assert LITERAL.fullmatch(found)
        assert len(found) <= longest + 1
        assert found.isprintable()
    in_a_list = quote_value([("send", TEXTS[name])], 20)
    assert len(in_a_list) <= 21
    assert not set("'\"") & set(LITERAL.sub("", in_a_list))


def test_a_number_of_more_digits_than_python_writes_is_quoted_in_words() -> None:
    assert quote_value(1 << 20_000) == "a very long number"


@each("name", TEXTS)
def test_a_quotation_is_the_same_in_every_language(name: str) -> None:
    quotation = quote_value(TEXTS[name], 60)
    problem = say("{op} cannot be used here, only {known}", op=quotation, known="F")
    said = say("rank {rank}, instruction {place}: {problem}", rank=0, place=0, problem=problem)
    for code in ("de", "zh"):
        with speaking(code):
            told = localize(said)
            assert quotation in told
            assert "instruction" not in told


def test_every_quotation_of_a_translated_sentence_is_short() -> None:
    for code in ("en", "de"):
        with speaking(code):
            said = translate("no answer is called {name!r}{near}", name="x" * 10_000, near="")
            assert len(said) < LONGEST + 60


@each("name", [("x", *[0] * 12_000), ("x", 0, 0, 0), ("x",), (), ["x", ["x", 0]], ("y", 0), (["x"], 0), "x"])
def test_a_name_in_memory_has_one_or_two_places(name: object) -> None:
    with pytest.raises(ScheduleError, match="is not a name such as") as refused:
        read_program(0, [("drop", name)], {"drop"}, 2)
    assert len(str(refused.value)) < 200
    assert read_program(0, [("drop", ["x", 0, 1])], {"drop"}, 2)[0].name == ("x", 0, 1)


def test_latex_that_cannot_be_converted_is_shown_and_refused_by_lint() -> None:
    for text in ("$x^{$", "A line:\n\n$$\n\\frac{1}{\n$$\n", "- in a list $\\nosuch{$"):
        with pytest.raises(MathematicsError):
            check_mathematics(text)
        assert "<code>" in html(text)
    check_mathematics("$x^2$ and `$x^{$`")


def test_what_is_shortened_says_so() -> None:
    assert shorten("a\u202eb" * 3_000, 100).endswith("…")
    assert len(shorten("\0" * 3_000, 100)) == 100
    assert shorten("as it is", 100) == "as it is"

"""The docstring of a formula as its page shows it."""

from dataclasses import replace

from app.core.formulas import FORMULAS, Formula, lookup
from app.site.web.reference.formulas import document_formula
from tests.each import each

RING = lookup("collectives.ring_all_reduce_time")


def changed(doc: str) -> Formula:
    """The ring's formula with another docstring."""

    def function(**_: object) -> float:
        return 0.0

    function.__doc__ = doc
    return replace(RING, function=function)


def test_the_sections_go_to_their_places() -> None:
    found = document_formula(RING)
    assert found.summary.endswith(".")
    assert set(found.arguments) == set(RING.inputs)
    assert found.source
    assert found.raises[0].isupper()


def test_a_line_of_mathematics_becomes_mathml_and_prose_a_paragraph() -> None:
    found = document_formula(changed("Time.\n\nPlain words.\n\n    T = 2 (ranks - 1) latency\n"))
    prose, mathematics = found.body
    assert prose == "<p>Plain words.</p>"
    assert mathematics.startswith('<div class="math block"><math')
    assert "<mn>2</mn>" in mathematics


def test_what_is_not_mathematics_stays_as_it_was_written() -> None:
    block, _ = document_formula(changed("Time.\n\n    for every rank: <sum>\n\nWords.\n")).body
    assert block == "<pre>for every rank: &lt;sum&gt;</pre>"


def test_words_of_a_docstring_are_text_and_not_markup() -> None:
    (block,) = document_formula(changed("Time.\n\nA <b>bold</b> & brave claim.\n")).body
    assert block == "<p>A &lt;b&gt;bold&lt;/b&gt; &amp; brave claim.</p>"


def test_a_description_may_go_on_in_the_next_line() -> None:
    doc = "Time.\n\nArgs:\n    size: bytes of\n        the array.\n    ranks: many.\n"
    assert document_formula(changed(doc)).arguments == {"size": "bytes of the array.", "ranks": "many."}


@each("name", FORMULAS)
def test_every_formula_is_shown_whole(name: str) -> None:
    formula = FORMULAS[name]
    found = document_formula(formula)
    assert list(found.arguments) == list(formula.inputs)
    assert all((found.summary, found.body, found.source))

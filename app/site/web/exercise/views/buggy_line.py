"""Listings with a bug, on a page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from app.course.kinds.code.buggy_line import BuggyLine
from app.site.markdown import python_html
from app.site.web.exercise.page_context import first_value
from app.site.web.exercise.views.base import Form, FormInput, KindView, typed_line


@dataclass(frozen=True, slots=True)
class LineView:
    """One line of a listing."""

    number: int
    html: Markup
    text: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BuggyLineForm(Form):
    """The lines to choose from."""

    lines: tuple[LineView, ...]
    has_code: bool = True


class BuggyLineView(KindView[BuggyLine]):
    """A listing whose lines are radio buttons."""

    def form(self, exercise: BuggyLine, filled: FormInput) -> BuggyLineForm:
        """The listing, and the line that was chosen."""
        lines = exercise.question(filled.seed).lines
        return BuggyLineForm(lines=_lines(lines, first_value(filled.given, "answer")))

    def told(self, exercise: BuggyLine, seed: int, stored: str) -> Iterator[Markup]:
        """The line that was chosen, with its number."""
        lines = dict(enumerate(exercise.question(seed).lines, 1))
        known = next((text for n, text in lines.items() if str(n) == stored.strip()), None)
        yield typed_line(stored) if known is None else Markup(f"line {stored.strip()}: ") + typed_line(known)


def _lines(lines: Sequence[str], chosen: str) -> tuple[LineView, ...]:
    highlighted = str(python_html("\n".join(lines))).split("\n")
    return tuple(
        LineView(number, Markup(html), text, str(number) == chosen.strip())
        for number, (html, text) in enumerate(zip(highlighted, lines, strict=False), 1)
    )


VIEW = BuggyLineView()

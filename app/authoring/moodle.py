"""Questions as Moodle XML, for the question bank of a Moodle.

The format is that of https://docs.moodle.org/en/Moodle_XML_format; the questions are in `templates/bank/moodle`.
"""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import ClassVar

from app.authoring import question_bank
from app.core.units.scales import PHYSICAL_SCALES, SCALES
from app.course.content.catalog import Catalog
from app.course.content.images import read_image
from app.site.markdown import portable_html
from app.site.web.frame.renderer import templates

# The parts of a grade that Moodle knows; it refuses a file with another.
_SHARES = {1: "100", 2: "50", 3: "33.33333", 4: "25", 5: "20", 6: "16.66667", 7: "14.28571",
           8: "12.5", 9: "11.11111", 10: "10"}  # fmt: skip
_PARTS = ("0", "5", "10", "20", "25", "30", "40", "50", "60", "70", "75", "80", "90")
_SPECIAL = re.compile(r"([\\}#~/\"])")  # in the answers of a cloze question
# Of the many ways to write a unit, those that are offered in Moodle.
_PLAIN = re.compile(r"[num]?s|min|h|[kMGTP]?i?B(/s)?|[kMGT]?bit(/s)?|[MGTPE]?FLOP(/s|/B)?|[kMG]?(W|J|Wh)")
_STORED = 1e-12, 1e15  # Moodle keeps multipliers with 38 digits, 19 of them decimals
_MATHEMATICS = re.compile(r"\$[^$]+\$")
_MARKS = re.compile(r"[*`]|\[([^\[\]]*+)\]\([^)]*+\)")
_TYPES: Mapping[type, str] = {
    question_bank.OptionBody: "multichoice",
    question_bank.PairBody: "matching",
    question_bank.StepBody: "ordering",
}
BEGINNING = '<?xml version="1.0" encoding="UTF-8"?>\n<quiz>\n'
END = "</quiz>\n"


@dataclass(slots=True)
class MoodleWriter:
    """A file of questions; links into this site are kept only if its *address* is known."""

    catalog: Catalog
    address: str = ""
    system: ClassVar[str] = "Moodle"
    file: ClassVar[str] = "FILE.xml"
    _chapter: str = field(default="", init=False)
    _lines: list[str] = field(default_factory=list, init=False)

    def add(self, chapter: str, question: question_bank.BankQuestion) -> Sequence[str]:
        """Add the *question*, in the category of its *chapter*; what it is without there.

        Raises:
            NotPortableError: Moodle does not judge it as we do.
        """
        page = MoodlePage(question, self.catalog, self.address)
        written = page.question()
        if chapter != self._chapter:
            self._chapter = chapter
            place = escape(chapter.replace("/", "//"), quote=False)
            text = f"<text>$course$/top/Wallclock/{place}</text>"
            self._lines.append(f'<question type="category"><category>{text}</category></question>\n')
        self._lines.append(f"{written}\n")
        return page.without

    def document(self) -> bytes:
        """The whole file."""
        return "".join((BEGINNING, *self._lines, END)).encode()


@dataclass
class MoodlePage:
    """A question that was *asked*, as the templates of Moodle's types take it."""

    asked: question_bank.BankQuestion
    catalog: Catalog
    address: str

    def question(self) -> str:
        """The question.

        Raises:
            NotPortableError: Moodle does not judge it as we do.
        """
        return templates().get_template(f"bank/moodle/{self.type}.xml").render(page=self)

    @property
    def type(self) -> str:
        """What Moodle calls the type of the question."""
        body = self.asked.body
        if isinstance(body, question_bank.NumberBody):
            return "cloze" if len(body.fields) > 1 or body.fields[0].title else "numerical"
        return _TYPES[type(body)]

    @property
    def without(self) -> tuple[str, ...]:
        """What the question does not have in a Moodle."""
        match self.asked.body:
            case question_bank.NumberBody() as body if self.type == "cloze":
                return *self.asked.without, *question_bank.other_units(body)
            case question_bank.PairBody(things) if any(thing.says for thing in things):
                return *self.asked.without, "feedback on wrong pairs"
            case question_bank.StepBody(has_feedback=True):
                return *self.asked.without, "feedback on wrong orders"
        return self.asked.without

    @property
    def below(self) -> str:
        """What stands below the prompt: the gaps of several numbers, or the unit of one."""
        fields = self.asked.body.fields if isinstance(self.asked.body, question_bank.NumberBody) else ()
        if self.type == "cloze":
            return f"<ul>{''.join(map(self._gap, fields))}</ul>"
        symbols = [escape(asked.scale.symbol) for asked in fields if asked.scale.symbol]
        return f"<p>A number without a unit is in {symbols[0]}.</p>" if symbols else ""

    def html(self, markdown: str) -> str:
        """*markdown* as HTML, which shows the images that come with it."""
        return question_bank.place_links(
            question_bank.IMAGE.sub(r'\1@@PLUGINFILE@@/\4"', self.portable(markdown)), self.address
        )

    def portable(self, markdown: str) -> str:
        """*markdown* as HTML."""
        return str(portable_html(markdown))

    def files(self, markdown: str) -> Mapping[str, str]:
        """The images that *markdown* shows, in base 64, by name."""
        shown = self.portable(markdown) if "![" in markdown else ""
        found = {match[4]: match[3] for match in question_bank.IMAGE.finditer(shown)}
        paths = {file: self.catalog.images[name] for file, name in found.items() if name in self.catalog.images}
        return {file: base64.b64encode(read_image(path)[0]).decode() for file, path in paths.items()}

    def ranges(self, asked: question_bank.NumberField) -> Iterator[tuple[str, str, str, str]]:
        """The grade, the middle and the half of each range of numbers, and what is said of it."""
        yield "100", _text((asked.low + asked.high) / 2), _text((asked.high - asked.low) / 2), asked.praise
        for one in asked.wrong:
            yield _part_of(one.share), _text(one.value), _text(one.near), one.says

    @cached_property
    def units(self) -> Mapping[str, str]:
        """The unit that is asked for, and others of its kind with what a number in it is there."""
        scale = self.asked.body.fields[0].scale if isinstance(self.asked.body, question_bank.NumberBody) else None
        if scale is None or not scale.symbol:
            return {}
        found, seen = {scale.symbol: "1"}, {scale.symbol.casefold()}
        for symbol, other in (SCALES | PHYSICAL_SCALES).items():
            alike = other.unit.dimension == scale.unit.dimension and symbol.casefold() not in seen
            is_plain = symbol in PHYSICAL_SCALES or _PLAIN.fullmatch(symbol)
            if alike and symbol.isascii() and is_plain and scale.symbol != "%":
                seen.add(symbol.casefold())
                if _STORED[0] < scale.factor / other.factor < _STORED[1]:
                    found[symbol] = _text(scale.factor / other.factor)
        return found

    def _gap(self, asked: question_bank.NumberField) -> str:
        """A number of several; what has mathematics cannot be shown where its feedback goes."""
        (_, middle, half, _), *wrong = self.ranges(asked)
        told = [f"={middle}:{half}"]
        for share, value, near, says in wrong:
            bare = "" if _MATHEMATICS.search(says) else escape(_MARKS.sub(r"\1", says), quote=False)
            told.append(f"%{share}%{value}:{near}#" + _SPECIAL.sub(r"\\\1", bare))
        title = self.portable(asked.title).strip().removeprefix("<p>").removesuffix("</p>")
        unit = f" {escape(asked.scale.symbol)}" if asked.scale.symbol else ""
        return f"<li>{title}: {{1:NUMERICAL:{'~'.join(told)}}}{unit}</li>"

    def fraction(self, option: question_bank.BankOption) -> str:
        """The grade of an *option*."""
        body = self.asked.body
        if not isinstance(body, question_bank.OptionBody):
            return "0"
        right = sum(one.is_right for one in body.options)
        wrong = len(body.options) - right
        if body.shuffled and max(right, wrong) not in _SHARES:
            raise question_bank.NotPortableError("choice: it has too many options for the grades of Moodle")
        if option.is_right:
            return _SHARES[right]
        return f"-{_SHARES[wrong]}" if body.many else _part_of(option.share)

    @property
    def pairs(self) -> Sequence[tuple[str, str]]:
        """Each thing and its partner, then the partners that go with nothing."""
        body = self.asked.body
        if not isinstance(body, question_bank.PairBody):
            return ()
        if any(len(thing.partners) > 1 for thing in body.things):
            raise question_bank.NotPortableError("matching: an item has several right partners")
        if any(_MATHEMATICS.search(text) for text in body.partners.values()):
            raise question_bank.NotPortableError("matching: Moodle shows no mathematics in a list of partners")
        pairs = [(thing.text, thing.partners[0]) for thing in body.things]
        used = {partner for _, partner in pairs}
        pairs += [("", partner) for partner in body.partners if partner not in used]
        return [(text, _MARKS.sub(r"\1", body.partners[partner])) for text, partner in pairs]


def _text(number: float) -> str:
    return f"{number:.15g}"


def _part_of(score: float) -> str:
    """The grade of a wrong answer that is worth *score* of the points."""
    known = {round(float(share), 3): share for share in _PARTS}
    if round(100 * score, 3) not in known:
        raise question_bank.NotPortableError("score: Moodle does not know the share of a wrong answer")
    return known[round(100 * score, 3)]

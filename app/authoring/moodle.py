"""Fixed drawings of exercises as Moodle XML, for the question bank of a Moodle.

Only what Moodle judges as we do is written: an exercise of another kind is left out, with the
reason. The format is that of https://docs.moodle.org/en/Moodle_XML_format.
"""

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from app.core.errors import AppError
from app.core.units.scales import PHYSICAL_SCALES, SCALES, Scale
from app.course.content.catalog import Catalog
from app.course.content.images import read_image
from app.course.kinds import Base, Exercise
from app.course.kinds.answer_key import AnswerKey
from app.course.kinds.choice import Choice
from app.course.kinds.code.buggy_line import BuggyLine
from app.course.kinds.numeric import ONLY, Numeric
from app.course.kinds.order import Match, Order
from app.site.markdown import portable_html

# The parts of a grade that Moodle knows; it refuses a file with another.
_SHARES = {1: "100", 2: "50", 3: "33.33333", 4: "25", 5: "20", 6: "16.66667", 7: "14.28571",
           8: "12.5", 9: "11.11111", 10: "10"}  # fmt: skip
_NONE = "0"
_PARTS = (_NONE, "5", "10", "20", "25", "30", "40", "50", "60", "70", "75", "80", "90")
_SPECIAL = re.compile(r"([\\}#~/\"])")  # in the answers of a cloze question
# Of the many ways to write a unit, those that are offered in Moodle.
_PLAIN = re.compile(r"[num]?s|min|h|[kMGTP]?i?B(/s)?|[kMGT]?bit(/s)?|[MGTPE]?FLOP(/s|/B)?|[kMG]?(W|J|Wh)")
_STORED = 1e-12, 1e15  # Moodle keeps multipliers with 38 digits, 19 of them decimals
_MATHEMATICS = re.compile(r"\$[^$]+\$")
_MARKS = re.compile(r"[*`]|\[([^\[\]]*+)\]\([^)]*+\)")


class NotInMoodleError(AppError):
    """Moodle could not judge an exercise as we do; the message says why."""


@dataclass(frozen=True, slots=True)
class Answers:
    """A type of question, its answers, and what stands *below* the prompt."""

    type: str
    elements: Sequence[Element]
    below: str = ""


def _element(name: str, text: str) -> Element:
    made = Element(name)
    made.text = text
    return made


def _answer_element(fraction: str, text: str, says: str, *, html: bool = False) -> Element:
    made = Element("answer", fraction=fraction, format="html" if html else "moodle_auto_format")
    SubElement(made, "text").text = text
    feedback = SubElement(made, "feedback", format="html")
    SubElement(feedback, "text").text = portable_html(says) if says else ""
    return made


def _numeric(exercise: Exercise, seed: int) -> Answers:
    if not isinstance(exercise, Numeric):
        raise TypeError(exercise.kind)
    keys = exercise.keys(seed)
    if exercise.answers:
        return _cloze(exercise, seed, keys)
    key = keys[ONLY]
    elements = [_number("100", *_range(key), key.praise())]
    for grade, value, says in _graded(key):
        elements.append(_number(grade, *_around(key, value), says))
    units = list(_units(key.asked.scale))
    if units:
        around = Element("units")
        for name, multiplier in units:
            unit = SubElement(around, "unit")
            SubElement(unit, "multiplier").text = multiplier
            SubElement(unit, "unit_name").text = name
        elements.append(around)
    elements += [
        _element("unitgradingtype", "0"),
        _element("unitpenalty", "0"),
        _element("showunits", "0" if units else "3"),
        _element("unitsleft", "0"),
    ]
    return Answers("numerical", elements, _asked_in(key.asked.scale))


def _graded(key: AnswerKey) -> Iterator[tuple[str, float, str]]:
    """The grade of each listed mistake, its value and its sentence."""
    for mistake, (value, says) in zip(key.listed.values(), key.mistakes, strict=True):
        yield _part_of(mistake.score), value, says


def _number(fraction: str, value: str, tolerance: str, says: str) -> Element:
    made = _answer_element(fraction, value, says)
    SubElement(made, "tolerance").text = tolerance
    return made


def _range(key: AnswerKey) -> tuple[str, str]:
    """The middle of what counts as right, and how far from it, in the unit that is asked for."""
    factor = key.asked.scale.factor
    return _plain_number((key.low + key.high) / 2 / factor), _plain_number((key.high - key.low) / 2 / factor)


def _around(key: AnswerKey, value: float) -> tuple[str, str]:
    """A wrong *value*, and how far from it an answer is told the same."""
    factor = key.asked.scale.factor
    near = min(key.asked.slack(value), abs(value) / 10)
    return _plain_number(value / factor), _plain_number(near / factor)


def _plain_number(number: float) -> str:
    return f"{number:.15g}"


def _units(scale: Scale) -> Iterator[tuple[str, str]]:
    """The unit that is asked for, and others of its kind with what a number in it is there."""
    if not scale.symbol:
        return
    yield scale.symbol, "1"
    seen = {scale.symbol.casefold()}
    for symbol, other in (SCALES | PHYSICAL_SCALES).items():
        alike = other.unit.dimension == scale.unit.dimension and symbol.casefold() not in seen
        is_plain = symbol in PHYSICAL_SCALES or _PLAIN.fullmatch(symbol)
        if alike and symbol.isascii() and is_plain and scale.symbol != "%":
            seen.add(symbol.casefold())
            multiplier = scale.factor / other.factor
            if _STORED[0] < multiplier < _STORED[1]:
                yield symbol, _plain_number(multiplier)


def _asked_in(scale: Scale) -> str:
    return f"<p>A number without a unit is in {escape(scale.symbol)}.</p>" if scale.symbol else ""


def _cloze(exercise: Numeric, seed: int, keys: Mapping[str, AnswerKey]) -> Answers:
    """Several numbers in one question; each in the unit that is asked for."""
    rows = []
    for name, key in keys.items():
        value, near = _range(key)
        told = [f"={value}:{near}"]
        for grade, wrong, says in _graded(key):
            value, near = _around(key, wrong)
            told.append(f"%{grade}%{value}:{near}#{_escaped(_bare(says))}")
        title = portable_html(exercise.title_of(name, seed)).strip()
        title = title.removeprefix("<p>").removesuffix("</p>")
        unit = f" {escape(key.asked.unit)}" if key.asked.unit else ""
        rows.append(f"<li>{title}: {{1:NUMERICAL:{'~'.join(told)}}}{unit}</li>")
    return Answers("cloze", (), f"<ul>{''.join(rows)}</ul>")


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _bare(text: str) -> str:
    """*text* without Markdown; what has mathematics cannot be shown where this goes."""
    return "" if _MATHEMATICS.search(text) else escape(_MARKS.sub(r"\1", text), quote=False)


def _choice_answers(exercise: Exercise, seed: int) -> Answers:
    if not isinstance(exercise, Choice):
        raise TypeError(exercise.kind)
    right, drawn = exercise.right(seed), exercise.draw(seed)
    wrong = len(exercise.options) - len(right)
    if max(len(right), wrong) not in _SHARES:
        raise NotInMoodleError("choice: it has too many options for the grades of Moodle")
    worth = {True: _SHARES[len(right)], False: f"-{_SHARES[wrong]}" if exercise.many else ""}
    answers = [
        _answer_element(
            worth[option.key in right] or _part_of(exercise.options[option.key].score),
            portable_html(option.text),
            exercise.fill(exercise.options[option.key].says, drawn),
            html=True,
        )
        for option in exercise.question(seed).options
    ]
    single = _element("single", "false" if exercise.many else "true")
    shuffled = _element("shuffleanswers", "true")
    return Answers("multichoice", [single, shuffled, _element("answernumbering", "abc"), *answers])


def _part_of(score: float) -> str:
    """The grade of a wrong answer that is worth *score* of the points."""
    known = {round(float(share), 3): share for share in _PARTS}
    if round(100 * score, 3) not in known:
        raise NotInMoodleError("score: Moodle does not know the share of a wrong answer")
    return known[round(100 * score, 3)]


def _match(exercise: Exercise, seed: int) -> Answers:
    if not isinstance(exercise, Match):
        raise TypeError(exercise.kind)
    drawn = exercise.draw(seed)
    if any(len(thing.partners) > 1 for thing in exercise.things.values()):
        raise NotInMoodleError("matching: an item has several right partners")
    texts = {key: exercise.fill(text, drawn) for key, text in exercise.partners.items()}
    if any(_MATHEMATICS.search(text) for text in texts.values()):
        raise NotInMoodleError("matching: Moodle shows no mathematics in a list of partners")
    pairs = [(exercise.fill(one.text, drawn), one.partners[0]) for one in exercise.things.values()]
    used = {partner for _, partner in pairs}
    pairs += [("", partner) for partner in texts if partner not in used]
    elements = [_element("shuffleanswers", "true")]
    for text, partner in pairs:
        made = Element("subquestion", format="html")
        SubElement(made, "text").text = portable_html(text) if text else ""
        SubElement(SubElement(made, "answer"), "text").text = _MARKS.sub(r"\1", texts[partner])
        elements.append(made)
    return Answers("matching", elements)


def _order(exercise: Exercise, seed: int) -> Answers:
    if not isinstance(exercise, Order):
        raise TypeError(exercise.kind)
    count, drawn = len(exercise.items), exercise.draw(seed)
    if exercise.strangers:
        raise NotInMoodleError("order: it has statements that belong nowhere")
    if len(exercise.before) < count * (count - 1) // 2:
        raise NotInMoodleError("order: several orders are right, and Moodle knows one")
    settings = {
        "layouttype": "VERTICAL",
        "selecttype": "ALL",
        "selectcount": "0",
        "gradingtype": "RELATIVE_ALL_PREVIOUS_AND_NEXT",
        "showgrading": "SHOW",
    }
    elements = [_element(name, text) for name, text in settings.items()]
    for place, step in enumerate(exercise.items.values(), 1):
        text = portable_html(exercise.fill(step.text, drawn))
        elements.append(_answer_element(str(place), text, "", html=True))
    return Answers("ordering", elements)


def _buggy_line(exercise: Exercise, seed: int) -> Answers:
    if not isinstance(exercise, BuggyLine):
        raise TypeError(exercise.kind)
    right, drawn = exercise.right_answer(seed), exercise.draw(seed)
    answers = []
    for number, line in enumerate(exercise.question(seed).lines, 1):
        if not line.strip():
            continue
        is_bug = str(number) == right
        says = exercise.bug(seed).says if is_bug else exercise.elsewhere.get(number, "")
        shown = f"<pre>{number:>2}  {escape(line)}</pre>"
        fraction = "100" if is_bug else _NONE
        answers.append(_answer_element(fraction, shown, exercise.fill(says, drawn), html=True))
    settings = {"single": "true", "shuffleanswers": "false", "answernumbering": "none"}
    elements = [_element(name, text) for name, text in settings.items()]
    return Answers("multichoice", [*elements, *answers])


ANSWERS: Mapping[type[Base], Callable[[Exercise, int], Answers]] = {
    Numeric: _numeric,
    Choice: _choice_answers,
    Match: _match,
    Order: _order,
    BuggyLine: _buggy_line,
}


BEGINNING = '<?xml version="1.0" encoding="UTF-8"?>\n<quiz>\n'
END = "</quiz>\n"
_IMAGE = re.compile(r'(<img src=")(/images/([^/"]+/([^"]+)))"')
_INSIDE = re.compile(r'<a href="(/[^"]*)">(.*?)</a>', re.DOTALL)
_PENALTY = "0.3333333"  # of each further try, as Moodle's own default


@dataclass(frozen=True, slots=True)
class MoodleWriter:
    """Writes questions; links into this site are kept only if its *address* is known."""

    catalog: Catalog
    address: str = ""

    def category(self, exercise: Exercise) -> str:
        """The category of the chapter of *exercise*, for what follows it in the file."""
        title = self.catalog.topic_of(exercise).title.replace("/", "//")
        question = Element("question", type="category")
        _add_text(SubElement(question, "category"), f"$course$/top/Wallclock/{title}")
        return _question_text(question)

    def question(self, exercise: Exercise, seed: int) -> str:
        """The drawing of *exercise* by *seed* as a question.

        Raises:
            NotInMoodleError: Moodle could not judge it as we do; the message says why.
        """
        write = ANSWERS.get(type(exercise))
        if write is None:
            raise NotInMoodleError(f"{exercise.kind_title.lower()}: only a server can judge it")
        answers = write(exercise, seed)
        variant = exercise.variant(seed)
        question = Element("question", type=answers.type)
        name = f"{exercise.title} ({seed})" if exercise.variation else exercise.title
        _add_text(SubElement(question, "name"), name)
        self._html(question, "questiontext", variant.prompt, answers.below)
        self._html(question, "generalfeedback", variant.solution)
        SubElement(question, "defaultgrade").text = "1"
        SubElement(question, "penalty").text = _PENALTY
        SubElement(question, "hidden").text = "0"
        SubElement(question, "idnumber").text = f"{exercise.id}#{seed}"
        for element in answers.elements:
            question.append(element)
        for hint in variant.hints:
            self._html(question, "hint", hint)
        tags = SubElement(question, "tags")
        for word in ("wallclock", exercise.id.partition("/")[0], *exercise.skills):
            _add_text(SubElement(tags, "tag"), word)
        return _question_text(question)

    def _html(self, around: Element, name: str, markdown: str, below: str = "") -> None:
        """Add the element *name* with *markdown* as HTML, and the images that it shows."""
        element = SubElement(around, name, format="html")
        html = portable_html(markdown)
        images = {found[4]: found[3] for found in _IMAGE.finditer(html)}
        html = _INSIDE.sub(self._link, _IMAGE.sub(r'\1@@PLUGINFILE@@/\4"', html))
        _add_text(element, html + below)
        for file, body in self._files(images).items():
            SubElement(element, "file", name=file, path="/", encoding="base64").text = body

    def _link(self, found: re.Match[str]) -> str:
        """A link into this site, or its words alone if nobody could follow it."""
        return f'<a href="{self.address}{found[1]}">{found[2]}</a>' if self.address else found[2]

    def _files(self, images: Mapping[str, str]) -> Mapping[str, str]:
        """The content of each image, in base64."""
        paths: dict[str, Path] = {
            file: self.catalog.images[name] for file, name in images.items() if name in self.catalog.images
        }
        return {file: base64.b64encode(read_image(p)[0]).decode() for file, p in paths.items()}


def _add_text(element: Element, text: str) -> None:
    SubElement(element, "text").text = text


def _question_text(question: Element) -> str:
    return f"{tostring(question, encoding='unicode')}\n"

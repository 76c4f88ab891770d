"""Questions as a package of QTI 3.0 items, for the question banks of Canvas, Brightspace, Inspera and others.

Elements are those of https://www.imsglobal.org/spec/qti/v3p0/impl. A number is judged by its range, options and pairs
by a mapping that gives our points, and an order as a whole. The items themselves are in `templates/bank/qti`.
"""

import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from io import BytesIO
from typing import ClassVar

from markupsafe import Markup

from app.authoring import question_bank
from app.core.units import spelling
from app.course.content.catalog import Catalog
from app.course.content.images import read_image
from app.site.markdown import html, inline_html
from app.site.web.frame.renderer import templates

_MATHML = "http://www.w3.org/1998/Math/MathML"
_MADE = (1980, 1, 1, 0, 0, 0)  # the same questions make the same package
_PARAGRAPH = re.compile(r"<(/?)p>")
_NAMED = re.compile(r"&(?!lt;|gt;|amp;|quot;|#)\w+;")  # characters that XML has no name for
_ORDER_OF_LIST = re.compile(r'(<ol) start="\d+"')
_KINDS: Mapping[type, str] = {
    question_bank.NumberBody: "numbers",
    question_bank.OptionBody: "options",
    question_bank.PairBody: "pairs",
    question_bank.StepBody: "steps",
}


@dataclass(slots=True)
class QtiWriter:
    """A package of items; links into this site are kept only if its *address* is known."""

    catalog: Catalog
    address: str = ""
    system: ClassVar[str] = "QTI"
    file: ClassVar[str] = "FILE.zip"
    _items: dict[str, tuple[str, Mapping[str, bytes]]] = field(default_factory=dict, init=False)

    def add(self, _chapter: str, question: question_bank.BankQuestion) -> Sequence[str]:
        """Add the *question*; what it is without."""
        page = QtiPage(question, self.catalog, self.address)
        self._items[page.name] = page.item(), page.images
        return page.without

    def document(self) -> bytes:
        """The whole package."""
        manifest = {name: list(images) for name, (_, images) in self._items.items()}
        files = {"imsmanifest.xml": _rendered("manifest", manifest).encode()}
        for name, (item, images) in self._items.items():
            files |= {f"items/{name}.xml": item.encode(), **images}
        file = BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, content in files.items():
                packed.writestr(zipfile.ZipInfo(name, _MADE), content, zipfile.ZIP_DEFLATED)
        return file.getvalue()


@dataclass(slots=True)
class QtiPage:
    """A question that was *asked*, as the templates of items take it, and the *images* that they show, by path."""

    asked: question_bank.BankQuestion
    catalog: Catalog
    address: str
    images: dict[str, bytes] = field(default_factory=dict, init=False)

    @property
    def name(self) -> str:
        """What the item is called."""
        return re.sub(r"[^\w-]", "-", self.asked.id)

    @property
    def without(self) -> tuple[str, ...]:
        """What the item does not have."""
        body, lost = self.asked.body, ["hints"] if self.asked.hints else []
        if isinstance(body, question_bank.NumberBody):
            lost += question_bank.other_units(body)
        if isinstance(body, question_bank.StepBody):
            lost += ["points for a part of the order", *(["feedback on wrong orders"] if body.has_feedback else [])]
        return *self.asked.without, *lost

    def item(self) -> str:
        """The item."""
        return _rendered(_KINDS[type(self.asked.body)], self)

    @property
    def right(self) -> Sequence[str]:
        """The identifiers of a right response."""
        match self.asked.body:
            case question_bank.OptionBody(options):
                return [f"option-{one.key}" for one in options if one.is_right]
            case question_bank.PairBody(things):
                return [_pair(thing.key, thing.partners[0]) for thing in things]
            case question_bank.StepBody(steps):
                return [f"step-{key}" for key in steps]
        return ()

    @property
    def points(self) -> Mapping[str, float]:
        """What each choice, or each pair, is worth."""
        match self.asked.body:
            case question_bank.OptionBody(options, True):
                each = 1 / len(options)
                return {f"option-{one.key}": each if one.is_right else -each for one in options}
            case question_bank.OptionBody(options):
                return {f"option-{one.key}": float(one.is_right) or one.share for one in options}
            case question_bank.PairBody(things):
                return {_pair(thing.key, one): 1 / len(things) for thing in things for one in thing.partners}
        return {}

    @property
    def left_out(self) -> float:
        """What those options are worth that are left out as they should be, where all of them are."""
        return sum(points < 0 for points in self.points.values()) / len(self.points)

    @property
    def wrong(self) -> Mapping[str, str]:
        """Each wrong pair of which something is said, and what."""
        things = self.asked.body.things if isinstance(self.asked.body, question_bank.PairBody) else ()
        return {_pair(thing.key, partner): says for thing in things for partner, says in thing.says.items()}

    def blocks(self, markdown: str) -> Markup:
        """*markdown* as QTI has it."""
        return self._xml(html(markdown))

    def line(self, markdown: str) -> Markup:
        """A line of *markdown*."""
        return self._xml(inline_html(markdown))

    def block(self, markdown: str) -> Markup:
        """*markdown*, without a paragraph where it is the only block."""
        written = html(markdown)
        alone = written.count("<p>") == 1 and _PARAGRAPH.sub("", written).strip() == str(inline_html(markdown)).strip()
        return self.line(markdown) if alone else self._xml(written)

    def unit(self, symbol: str) -> str:
        """How a unit is written."""
        return spelling(symbol)

    def _xml(self, written: str) -> Markup:
        """HTML that this site has *written*, whose images are in the package from now on."""
        plain = question_bank.place_links(str(written), self.address)
        plain = _NAMED.sub(lambda found: unescape(found[0]), _ORDER_OF_LIST.sub(r"\1", plain))
        for found in question_bank.IMAGE.finditer(plain):
            if found[3] in self.catalog.images:
                self.images[found[2].removeprefix("/")] = read_image(self.catalog.images[found[3]])[0]
        return Markup(question_bank.IMAGE.sub(r'\1..\2"', plain).replace("<math", f'<math xmlns="{_MATHML}"'))


def _pair(thing: str, partner: str) -> str:
    return f"thing-{thing} partner-{partner}"


def _rendered(name: str, page: object) -> str:
    return templates().get_template(f"bank/qti/{name}.xml").render(page=page)

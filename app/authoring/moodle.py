"""Fixed drawings of exercises as Moodle XML, for the question bank of a Moodle.

Only what Moodle judges as we do is written: an exercise of another kind is left out, with the
reason. The format is that of https://docs.moodle.org/en/Moodle_XML_format.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from app.authoring.moodle_answers import ANSWERS, NotInMoodleError
from app.course.content.catalog import Catalog
from app.course.content.images import read_image
from app.course.kinds import Exercise
from app.site.markdown import portable_html

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
        _text(SubElement(question, "category"), f"$course$/top/Wallclock/{title}")
        return _written(question)

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
        _text(SubElement(question, "name"), name)
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
            _text(SubElement(tags, "tag"), word)
        return _written(question)

    def _html(self, around: Element, name: str, markdown: str, below: str = "") -> None:
        """Add the element *name* with *markdown* as HTML, and the images that it shows."""
        element = SubElement(around, name, format="html")
        html = portable_html(markdown)
        images = {found[4]: found[3] for found in _IMAGE.finditer(html)}
        html = _INSIDE.sub(self._link, _IMAGE.sub(r'\1@@PLUGINFILE@@/\4"', html))
        _text(element, html + below)
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


def _text(element: Element, text: str) -> None:
    SubElement(element, "text").text = text


def _written(question: Element) -> str:
    return f"{tostring(question, encoding='unicode')}\n"

"""The parts of the course as pages list them: each with the cards of its chapters."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.core.translation import translate
from app.course.content.catalog import Catalog
from app.course.content.parts import CoursePart
from app.course.content.sections import sections_of
from app.site.web.standing.view import ChapterCard, LearnerHistory, card_of


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedCard:
    """The card of a chapter, and its number in the course."""

    number: int
    card: ChapterCard


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionCards:
    """A part of the course: its title, a sentence, its chapters, and how much is solved of them.

    The title is empty where the course has no parts.
    """

    title: str
    says: str
    cards: tuple[NumberedCard, ...]

    @property
    def solved(self) -> int:
        """The exercises solved on the paths of its chapters."""
        return sum(one.card.path.solved for one in self.cards)

    @property
    def total(self) -> int:
        """The exercises on the paths of its chapters."""
        return sum(len(one.card.path.rows) for one in self.cards)


def section_cards(course: Catalog, past: LearnerHistory) -> Iterator[SectionCards]:
    """The parts of *course*, with the marks of a learner with that *past*."""
    numbers = {topic.id: number for number, topic in enumerate(course.topics, start=1)}
    sections = tuple(sections_of(course))
    for section in sections:
        title, says = section_words(section.part, is_only=len(sections) == 1)
        cards = (NumberedCard(number=numbers[topic.id], card=card_of(topic, past)) for topic in section.topics)
        yield SectionCards(title=title, says=says, cards=tuple(cards))


def section_words(part: CoursePart | None, *, is_only: bool) -> tuple[str, str]:
    """The title and the sentence of *part*; of chapters that stand in none, beside others."""
    if part:
        return part.title, part.says
    return ("" if is_only else translate("More chapters")), ""

"""One placement or final: its questions, and what a learner has answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.core.errors import NotFoundError
from app.core.translation import translate
from app.course.learning import AssessmentQuestion
from app.server.db.assessments import AssessedRow, Assessment, assessed_in
from app.server.db.session import open_session
from app.site import Site


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """One placement or final: its questions as far as they are known, and the answers to them.

    *total* in words, such as “20”; *about*: what the banner above a question says.
    """

    sort: Assessment
    title: str
    draw: int
    questions: Sequence[AssessmentQuestion]
    answers: Mapping[int, AssessedRow]
    total: str
    about: str

    @property
    def href(self) -> str:
        """The page of its result."""
        return f"/{self.sort}/{self.draw}"

    @property
    def onward(self) -> str:
        """The address that leads to the first question without an answer, or to the result."""
        return f"{self.href}/next"

    @property
    def following(self) -> AssessmentQuestion | None:
        """The first question without an answer."""
        return next((one for one in self.questions if one.number not in self.answers), None)

    def address(self, number: int) -> str:
        """The page of a question."""
        return f"{self.href}/{number}"

    def question(self, number: int) -> AssessmentQuestion:
        """The question with that number.

        Raises:
            NotFoundError: the question does not exist, or its turn has not come.
        """
        for one in self.questions:
            if one.number == number:
                return one
        raise NotFoundError(translate("question {number} does not exist, or its turn has not come", number=number))


def answers_in(site: Site, learner: str, sort: Assessment, draw: int) -> Mapping[int, AssessedRow]:
    """What *learner* has answered, by the number of the question; a stranger has none."""
    if not learner:
        return {}
    with open_session(site.engine) as session:
        return {row.number: row for row in assessed_in(session, learner, sort, draw)}

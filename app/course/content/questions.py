"""What people ask for in words that the page which answers does not have: `questions.yaml`."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from app.core.translation import SOURCE, language
from app.core.yaml_file import read_document
from app.course.content.refusals import refusal_of

_FILE = Path(__file__).parent / "data" / "questions.yaml"


class QuestionFile(BaseModel):
    """The *pages* that answer, with what is asked in each language, and *words* that are alike."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    words: Mapping[str, str]
    pages: Mapping[str, Mapping[str, tuple[str, ...]]]


@cache
def question_file() -> QuestionFile:
    """The questions of all pages.

    Raises:
        ContentError: the file is not valid.
    """
    document = read_document(_FILE)
    try:
        return QuestionFile.model_validate(document.values)
    except ValidationError as error:
        raise refusal_of(document, error, QuestionFile) from error


def questions_of(page: str) -> tuple[str, ...]:
    """What people ask, in English and in the current language, where *page* answers."""
    asked = question_file().pages.get(page, {})
    return tuple(text for code in dict.fromkeys((SOURCE, language())) for text in asked.get(code, ()))

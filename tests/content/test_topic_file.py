"""The file of a chapter: the pieces of its opening, their places, and its reading questions."""

import pytest
from pydantic import ValidationError

from app.course.content.topic_file import (
    OpeningPart,
    ReadingQuestion,
    TopicFile,
    find_misplaced,
    opening_parts,
    with_places_after,
)
from app.course.kinds.base import EmbeddedFigures, ExerciseFigure
from tests.each import each

OPENING = "First.\n\n{frame 3}\n\nSecond {figure 1}.\n{figure 2}\n{question 1}\nThird.\n"
QUESTION = {
    "prompt": "How many bytes?",
    "says": "As many as that.",
    "answer": "2 GB",
    "unit": "GB",
    "mistakes": {"1 GB": "That is half of it."},
}
STILL, MOVING = EmbeddedFigures(explorer="ring"), ExerciseFigure.model_validate({"draws": "bits"})


def test_an_opening_is_cut_at_the_places_that_have_a_line_of_their_own() -> None:
    assert list(opening_parts(OPENING)) == [
        OpeningPart("First."),
        OpeningPart("Second {figure 1}.", frame=3),
        OpeningPart(figure=1),
        OpeningPart(question=0),
        OpeningPart("Third.", frame=3),
    ]
    assert list(opening_parts("")) == []
    assert list(opening_parts("{figure 1}")) == [OpeningPart(figure=0)]
    assert list(opening_parts("X\n{figure 99}\nY")) == [OpeningPart("X"), OpeningPart(figure=98), OpeningPart("Y")]
    assert list(opening_parts("{figure 100}")) == [OpeningPart("{figure 100}")]


def test_places_come_after_those_of_another_text_and_frames_go_where_its_figure_moves() -> None:
    assert with_places_after(OPENING, [STILL, STILL], 1) == OPENING.replace("{figure 2}", "{figure 4}").replace(
        "{question 1}", "{question 2}"
    )
    moved = with_places_after(OPENING, [STILL, MOVING], 0)
    assert moved == OPENING.replace("{figure 2}", "{figure 4}").replace("{frame 3}", "")
    assert with_places_after(OPENING, [], 0) == OPENING


def topic(opening: str, figures: int = 0, questions: int = 0) -> TopicFile:
    return TopicFile.model_validate(
        {
            "title": "Title",
            "summary": "A summary of it.",
            "opening": opening,
            "figures": [{"explorer": "ring"}] * figures,
            "questions": [QUESTION] * questions,
        }
    )


@each(
    ("opening", "figures", "questions", "says"),
    [
        ("A\n{figure 1}\n{question 1}\n", 1, 1, []),
        ("A\n", 1, 0, []),
        ("A\n{figure 2}\n", 1, 0, ["has a place for figure 2, and `figures` lists 1"]),
        ("A\n{figure 0}\n", 1, 0, ["has a place for figure 0, and `figures` lists 1"]),
        ("A\n{figure 1}\n{figure 1}\n", 1, 0, ["has two places for figure 1"]),
        ("A\n{question 2}\n", 0, 2, ["has no place for question 1"]),
        (
            "A\n{question 3}\n",
            0,
            2,
            [
                "has a place for question 3, and `questions` lists 2",
                "has no place for question 1",
                "has no place for question 2",
            ],
        ),
    ],
)
def test_a_place_without_a_thing_and_a_question_without_a_place_are_found(
    opening: str, figures: int, questions: int, says: list[str]
) -> None:
    assert [one for one, _ in find_misplaced(topic(opening, figures, questions))] == says


def test_a_reading_question_has_a_key_and_no_points() -> None:
    key = ReadingQuestion.model_validate(QUESTION).key()
    assert key.right == 2e9
    assert [says for _, says in key.mistakes] == ["That is half of it."]
    with pytest.raises(ValidationError, match="a question here has no points"):
        ReadingQuestion.model_validate(
            {**QUESTION, "mistakes": {"1 GB": {"says": "That is half of it.", "score": 0.5}}}
        )


def test_a_chapter_without_a_position_comes_after_the_built_in_ones() -> None:
    assert topic("A").position == 1000

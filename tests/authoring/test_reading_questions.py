"""Questions in the opening of a chapter: their places, and the proofs of their answers."""

from pathlib import Path

import pytest

from app.authoring.chapter_proofs import prove_reading_questions
from app.core.errors import ContentError
from app.course.content.topic_file import opening_parts
from app.course.content.translations import read_topic
from tests.each import each

CHAPTER = """\
title: Rings
position: 1
summary: How many bytes a ring sends.
opening: |
  A ring of GPUs adds arrays.

  {question 1}

  {figure 1}

  Each of them sends almost twice the array.
figures: [{explorer: ring}]
questions:
  - prompt: Eight GPUs add 4.1 GB. How many bytes does each send?
    answer: collectives.ring_all_reduce_bytes(4.1 GB, 8)
    unit: GB
    mistakes: {3.5 GB: That is one phase of the two.}
    says: Two phases of seven steps each.
"""


def chapter(folder: Path, text: str) -> Path:
    path = folder / "topic.yaml"
    path.write_text(text)
    return path


def test_an_opening_is_its_text_and_its_places_in_order() -> None:
    parts = opening_parts("Before.\n\n{question 2}\n\n{figure 1}\n\nAfter {figure 1}.\n")
    told = [part.text or (part.question, part.figure) for part in parts]
    assert told == ["Before.", (1, None), (None, 0), "After {figure 1}."]


@each(
    ("before", "after", "says"),
    [
        ("{figure 1}", "{figure 2}", "has a place for figure 2, and `figures` lists 1"),
        ("{figure 1}", "{figure 1}\n\n  {figure 1}", "has two places for figure 1"),
        ("{question 1}", "{question 0}", "has a place for question 0"),
        ("{question 1}", "It begins.", "has no place for question 1"),
    ],
)
def test_a_place_without_a_figure_or_a_question_is_refused(tmp_path: Path, before: str, after: str, says: str) -> None:
    with pytest.raises(ContentError) as caught:
        read_topic(chapter(tmp_path, CHAPTER.replace(before, after)))
    assert says in caught.value.problems[0].says
    assert caught.value.problems[0].line == 4


@each(
    ("before", "after", "where", "says"),
    [
        ("(4.1 GB, 8)", "(4.1 GB)", "answer", "ranks"),
        ("3.5 GB: ", "7.2 GB: ", "7.2 GB", "within twice the tolerance"),
        ("adds arrays.", "sends 7.175 GB.", "prompt", "the answer, 7.175, stands above"),
        ("almost twice the array.", "7.175 GB.", "", ""),
        ("prompt: ", "prompt: Of 7.175 GB, ", "prompt", "the answer, 7.175, stands above"),
    ],
)
def test_the_answer_is_proven_and_does_not_stand_above_its_question(
    tmp_path: Path, before: str, after: str, where: str, says: str
) -> None:
    topic, _ = read_topic(chapter(tmp_path, CHAPTER.replace(before, after)))
    found = [(one.where[-1], one.says) for one in prove_reading_questions(topic)]
    assert [place for place, _ in found] == ([where] if where else [])
    assert all(says in told for _, told in found)

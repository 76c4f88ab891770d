"""One word for a rank, for a GPU and for a worker, as the glossary says: in exercises, chapters, figures, explorers."""

import re
from collections.abc import Iterable, Iterator

from app.authoring.proofs import prove_terms
from app.core.charts.svg import to_svg
from app.core.folders import ROOT
from app.course.content.catalog import Catalog
from app.course.content.errata import errata, terms
from app.course.explorers import EXPLORERS
from app.course.explorers.base import open_explorer
from app.labs.spec import known_labs
from tests.each import each

WORKER = re.compile(r"(?<!loader )(?<!rollout )(?<![\w.{_])workers?\b(?![:}])", re.IGNORECASE)
COUNTED = re.compile(r"(?<![\d.,/])(\d[\d,]*)\**[ -](?:[a-z]+(?:-[a-z]+)? )??(rank|GPU|process)(?:e?s)?\b")
ENGLISH = sorted(path for path in ROOT.glob("exercises/*/*.yaml") if not re.search(r"\.[a-z]{2}\.yaml$", path.name))


def two_words(texts: Iterable[str]) -> Iterator[str]:
    """The numbers in *texts* that count ranks here and GPUs there."""
    words: dict[str, str] = {}
    for number, word in (found for text in texts for found in COUNTED.findall(text)):
        if words.setdefault(number, word) != word:
            yield f"{number} {words[number]} and {word}"


def test_no_rank_is_called_a_worker() -> None:
    said = {path.parent.name + "/" + path.name: path.read_text(encoding="utf-8") for path in ENGLISH}
    said |= {erratum.id: f"{erratum.title} {erratum.claim} {erratum.right}" for erratum in errata()}
    said |= {term.term: term.says for term in terms().values() if term.term != "rank"}
    said |= {name: f"{lab.title} {lab.summary} {lab.question} {lab.explains}" for name, lab in known_labs().items()}
    assert {name: found[0] for name, text in said.items() if (found := WORKER.search(text))} == {}


def test_an_exercise_and_its_figure_count_the_same_things_by_the_same_word(catalog: Catalog) -> None:
    found = [f"{exercise.id}: {one.says}" for exercise in catalog.exercises for one in prove_terms(exercise)]
    assert found == []


def test_a_chapter_counts_the_same_things_by_the_same_word(catalog: Catalog) -> None:
    texts = {
        topic.id: [
            topic.summary,
            topic.opening,
            topic.closing,
            *(f"{one.prompt} {one.says}" for one in topic.questions),
        ]
        for topic in catalog.topics
    }
    assert {name: found for name, several in texts.items() if (found := list(two_words(several)))} == {}


@each("name", EXPLORERS)
def test_an_explorer_counts_the_same_things_by_the_same_word(name: str) -> None:
    shown = open_explorer(EXPLORERS, name, {}).shown
    texts = [shown.says, *(text for figure in shown.figures for text in (figure.title, to_svg(figure, alone=False)))]
    assert list(two_words(texts)) == []


def test_two_words_for_one_count_are_found() -> None:
    assert list(two_words(["8 ranks sum it.", "Each of **8** GPUs sends it."])) == ["8 rank and GPU"]
    assert list(two_words(["8 data-parallel ranks", "16 GPUs", "the 8 ranks"])) == []
    assert WORKER.search("eight workers")
    assert not WORKER.search("a loader worker, {workers} and throughput.loader_workers")

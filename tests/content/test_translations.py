"""Translations side by side with exercises and chapters."""

import asyncio
import re
import shutil
from itertools import chain
from pathlib import Path

import pytest

from app.authoring.lint import LintReport, lint, prove_translations
from app.core.errors import ContentError
from app.core.folders import ROOT
from app.course.content.catalog import Catalog
from app.course.content.translations import exercise_texts, read_exercise, texts_digest
from app.course.kinds.drawn_values import ChapterParameter
from app.course.kinds.numeric import Numeric
from app.course.sandbox.runner import Runner

MATH = re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL)
CHAPTER = ROOT / "exercises" / "testtime"


@pytest.fixture
def chapter(tmp_path: Path) -> Path:
    folder = tmp_path / "course" / "testtime"
    folder.mkdir(parents=True)
    for name in ("topic", "points-or-percent", "what-is-filtered"):
        for path in CHAPTER.glob(f"{name}.*"):
            shutil.copy(path, folder)
    for path in CHAPTER.parent.glob("parts.*"):
        shutil.copy(path, folder.parent)
    return folder


def problems(chapter: Path) -> list[str]:
    with pytest.raises(ContentError) as raised:
        Catalog.read([chapter.parent])
    return [str(problem).partition(": ")[2] for problem in raised.value.problems]


def changed(path: Path, before: str, after: str) -> None:
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after), "utf-8")


def test_a_whole_chapter_is_translated() -> None:
    catalog = Catalog.read([ROOT / "exercises"])
    ids = {exercise.id for exercise in catalog.topic("testtime").exercises}
    for code, title in (("de", "Skalierung zur Inferenzzeit"), ("zh", "推理时扩展")):
        topic = catalog.spoken(code).topic("testtime")
        assert topic.title == title
        assert {one.id for one in topic.exercises if one.language == code} == ids
        assert catalog.spoken(code).exercise("pipelines/in-flight").language == "en"
    assert catalog.spoken("en") is catalog


@pytest.mark.parametrize("code", ["de", "zh"])
def test_a_translation_is_the_same_exercise(code: str) -> None:
    catalog = Catalog.read([CHAPTER.parent])
    for original in catalog.topic("testtime").exercises:
        ours = catalog.spoken(code).exercise(original.id)
        assert ours.digest == original.digest
        for seed in range(3):
            assert ours.draw(seed).shown == original.draw(seed).shown
            assert ours.right_answer(seed) == original.right_answer(seed)
            told = list(zip(ours.mistakes(seed), original.mistakes(seed), strict=True))
            assert all(mine[0] == theirs[0] and mine[1] != theirs[1] for mine, theirs in told)


def test_a_mistake_has_one_key_in_every_language(catalog: Catalog) -> None:
    original = catalog.exercise("testtime/what-is-filtered")
    german = catalog.spoken("de").exercise(original.id)
    keys = []
    for exercise in (original, german):
        verdict = asyncio.run(exercise.grade(0, "tests", None))  # type: ignore[arg-type]
        keys.append(exercise.kept_key(verdict.mistake))
    assert keys[0] == keys[1] != ""
    assert german.diagnosis(keys[0], 0).startswith("Manche Zusammenfassungen sagen das")
    assert original.diagnosis(keys[0], 0).startswith("Some summaries say so")


@pytest.mark.parametrize(
    ("name", "before", "after", "says"),
    [
        ("points-or-percent.de", "von {before} auf", "auf", "prompt: the translation lacks {before}"),
        ("points-or-percent.de", "auf {after}", "auf {after} {x}", "prompt: the translation adds {x}"),
        ("what-is-filtered.zh", "  tests:\n", "  tests2:\n", "options.tests2.text: the original has no text there"),
        ("what-is-filtered.zh", "  - 读一读摘要。\n", "", "has no translation of hints.1"),
        (
            "what-is-filtered.zh",
            "  - 读一读摘要。\n",
            "  - 读一读摘要。\n  - 再想想。\n",
            "hints.2: the original has no text there",
        ),
        ("what-is-filtered.zh", "title:", "level: 2\ntitle:", "level: the original has no text there"),
        (
            "topic.de",
            "title: Skalierung zur Inferenzzeit",
            "title: x",
            "title: is too short: x; write at least 2 characters",
        ),
    ],
)
def test_what_does_not_fit_is_refused(chapter: Path, name: str, before: str, after: str, says: str) -> None:
    changed(chapter / f"{name}.yaml", before, after)
    assert any(says in problem for problem in problems(chapter)), problems(chapter)


def notes_on_translations(linted: LintReport) -> list[str]:
    return [note.says for note in linted.notes if note.path.stem.startswith("points-or-percent.")]


def test_an_original_that_has_changed_is_shown_until_someone_looks(chapter: Path) -> None:
    assert Catalog.read([chapter.parent]).spoken("de").topic("testtime").exercises[0].language == "de"
    changed(
        chapter / "points-or-percent.yaml",
        "Divide only for the second one, and by the value before training.",
        "Mind the base.",
    )
    catalog = Catalog.read([chapter.parent])
    assert catalog.spoken("de").exercise("testtime/points-or-percent").language == "en"
    linted = asyncio.run(lint([chapter], Runner.__new__(Runner)))
    fresh = texts_digest(exercise_texts(read_exercise(chapter / "points-or-percent.yaml", "testtime")[0]))
    found = notes_on_translations(linted)
    assert not linted.problems
    assert len(found) == 2
    assert all("has changed since" in one and f"of: {fresh}" in one for one in found)
    for code in ("de", "zh"):
        path = chapter / f"points-or-percent.{code}.yaml"
        path.write_text(re.sub(r'of: "\w+"', f'of: "{fresh}"', path.read_text("utf-8")), "utf-8")
    assert not notes_on_translations(asyncio.run(lint([chapter], Runner.__new__(Runner))))


def test_a_mistake_that_is_rewritten_does_not_stop_lint(chapter: Path) -> None:
    changed(chapter / "what-is-filtered.yaml", "  tests:\n", "  all-tests:\n")
    linted = asyncio.run(lint([chapter], Runner.__new__(Runner)))
    assert sum("English is shown" in note.says for note in linted.notes) == 2
    assert not [one for one in linted.problems if one.path.stem.count(".")]


def test_no_translation_of_the_course_lags(catalog: Catalog) -> None:
    folders = ROOT / "exercises"
    assert [*chain.from_iterable(map(prove_translations, folders.rglob("*.yaml")))] == []


def test_a_translation_has_the_conditions_of_its_original(chapter: Path) -> None:
    path = chapter / "points-or-percent.yaml"
    changed(path, "solution: >\n", "solution: >\n  {when after > before}It rose.{end}\n")
    fresh = texts_digest(exercise_texts(read_exercise(path, "testtime")[0]))
    german = chapter / "points-or-percent.de.yaml"
    changed(german, re.findall(r'of: "\w+"', german.read_text("utf-8"))[0], f'of: "{fresh}"')
    assert any("lacks {end}, {when after > before}" in one for one in problems(chapter))
    changed(german, "solution: >\n", "solution: >\n  {when after > before}Stieg also.{end}\n")
    exercise = Catalog.read([chapter.parent]).spoken("de").exercise("testtime/points-or-percent")
    assert exercise.variant(0).solution.startswith("Stieg also.")


def test_a_number_that_changes_needs_no_new_translation(chapter: Path) -> None:
    changed(chapter / "points-or-percent.yaml", "42.4 %", "43.4 %")
    german = Catalog.read([chapter.parent]).spoken("de").exercise("testtime/points-or-percent")
    assert "43,4 %" in german.variant(0).prompt


@pytest.mark.parametrize(("code", "said"), [("de", "Shard der Gradienten"), ("zh", "梯度分片")])
def test_the_parts_of_a_sum_have_names_in_every_language(catalog: Catalog, code: str, said: str) -> None:
    exercise = catalog.spoken(code).exercise("memory/stage-2")
    assert isinstance(exercise, Numeric)
    counted = exercise.counted(0, "14 GB")
    assert counted is not None
    assert said in {part.name for part in counted.parts}


def test_answers_are_revealed_under_the_titles_of_their_boxes(catalog: Catalog) -> None:
    told = catalog.spoken("de").exercise("hardware/bits-and-bytes").reveal(0)
    assert told == "- Eine GPU: **50 GB/s**\n- Der ganze Server: **400 GB/s**"


def test_a_translation_needs_its_original_and_a_language_that_is_offered(chapter: Path) -> None:
    (chapter / "points-or-percent.de.yaml").rename(chapter / "gone.de.yaml")
    (chapter / "what-is-filtered.de.yaml").rename(chapter / "what-is-filtered.dr.yaml")
    found = problems(chapter)
    assert any("is the translation of gone.yaml, which does not exist" in one for one in found)
    assert any("no language is called 'dr'" in one and "de, zh" in one for one in found)


@pytest.mark.parametrize("code", ["de", "zh"])
def test_every_chapter_opens_in_every_language(catalog: Catalog, code: str) -> None:
    for ours, original in zip(catalog.spoken(code).topics, catalog.topics, strict=True):
        assert ours.id == original.id
        assert ours.language == code, f"{ours.id}: lint says which texts have changed"
        assert ours.opening != original.opening
        assert len(MATH.findall(ours.opening)) == len(MATH.findall(original.opening)), ours.id
        assert ours.opening.count("\n  |") == original.opening.count("\n  |")
        for parameter, first in zip(ours.parameters.values(), original.parameters.values(), strict=True):
            assert replace_says(parameter) == replace_says(first)


def replace_says(parameter: ChapterParameter) -> ChapterParameter:
    return parameter.model_copy(update={"says": ""})

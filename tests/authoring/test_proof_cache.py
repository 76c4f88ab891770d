import shutil
from asyncio import AbstractEventLoop
from collections.abc import Callable
from pathlib import Path

import pytest

from app.authoring.lint import LintReport, ProofCache, lint
from app.core.folders import ROOT
from app.course.sandbox.runner import Runner


@pytest.fixture
def course(tmp_path: Path) -> Path:
    for name in ("testtime", "overlap"):
        folder = tmp_path / "course" / name
        folder.mkdir(parents=True)
        chosen = sorted(path for path in (ROOT / "exercises" / name).glob("*.yaml") if "." not in path.stem)
        numeric = [path for path in chosen if "kind: numeric" in path.read_text(encoding="utf-8")][:2]
        for path in (ROOT / "exercises" / name / "topic.yaml", *numeric):
            for one in path.parent.glob(f"{path.stem}.*"):
                shutil.copy(one, folder)
    return tmp_path / "course"


@pytest.fixture
def proven(
    course: Path, runner: Runner, loop: AbstractEventLoop, tmp_path: Path
) -> Callable[..., tuple[LintReport, list[str]]]:
    """Lints the course; returns what it found, and the files that were proven."""

    def linted(context: str = "") -> tuple[LintReport, list[str]]:
        proofs = ProofCache(tmp_path / "cache", context)
        made = loop.run_until_complete(lint([course], runner, proofs=proofs))
        return made, sorted(f"{path.parent.name}/{path.name}" for path in proofs.fresh)

    return linted


def _exercise(course: Path) -> Path:
    return sorted(path for path in (course / "testtime").glob("*.yaml") if "." not in path.stem)[0]


def _append(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8") + "# a remark\n", encoding="utf-8")


def test_what_has_not_changed_is_not_proven_again(
    course: Path, proven: Callable[..., tuple[LintReport, list[str]]]
) -> None:
    first, files = proven()
    assert first.problems == ()
    assert len(files) == 6
    again, files = proven()
    assert files == []
    assert again == first


def test_an_exercise_that_changed_is_proven_and_a_chapter_proves_all_of_it(
    course: Path, proven: Callable[..., tuple[LintReport, list[str]]]
) -> None:
    proven()
    file = _exercise(course)
    _append(file)
    assert proven()[1] == [f"testtime/{file.name}"]
    _append(course / "testtime" / "topic.yaml")
    assert {name.partition("/")[0] for name in proven()[1]} == {"testtime"}
    assert proven()[1] == []
    shutil.copy(file, file.with_name("another.yaml"))  # links of all others may lead there
    assert len(proven()[1]) == 7
    assert len(proven("another formula of a pack")[1]) == 7


def test_a_file_with_a_problem_is_proven_each_time(
    course: Path, proven: Callable[..., tuple[LintReport, list[str]]]
) -> None:
    proven()
    file = _exercise(course)
    text = file.read_text(encoding="utf-8")
    file.write_text(
        text.replace("prompt: ", "prompt: See [this](/nowhere). ", 1).replace(
            "prompt: See [this](/nowhere). >\n", "prompt: >\n  See [this](/nowhere).\n", 1
        ),
        encoding="utf-8",
    )
    for _ in range(2):
        linted, files = proven()
        assert files == [f"testtime/{file.name}"]
        assert {problem.path for problem in linted.problems} == {file}
    file.write_text(text, encoding="utf-8")
    assert proven()[0].problems == ()


def test_a_translation_is_proven_with_its_original(
    course: Path, proven: Callable[..., tuple[LintReport, list[str]]]
) -> None:
    (german,) = list((course / "testtime").glob("topic.de.yaml"))
    proven()
    german.write_text(german.read_text(encoding="utf-8").replace("summary:", "summary: $\\frac$", 1), encoding="utf-8")
    for _ in range(2):
        assert {problem.path for problem in proven()[0].problems} == {german}

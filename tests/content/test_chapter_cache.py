import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.errors import ContentError
from app.core.folders import ROOT
from app.course.content import course as packs
from app.course.content.catalog import Catalog, ChapterFolder, read_chapter_folder
from app.course.content.course import ChapterCache, read_course
from app.server.config import Settings

CHAPTERS = ("overlap", "testtime")


@pytest.fixture
def course(tmp_path: Path) -> Path:
    for name in CHAPTERS:
        shutil.copytree(ROOT / "exercises" / name, tmp_path / "course" / name)
    chapters = "".join(f"\n      {name}: []" for name in CHAPTERS)
    outline = f"parts:\n  all:\n    title: All of it\n    says: Two chapters of the course.\n    chapters:{chapters}\n"
    (tmp_path / "course" / "course.yaml").write_text(outline, encoding="utf-8")
    return tmp_path / "course"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The chapters that were read, not found as they were."""
    names: list[str] = []

    def noted(folder: Path) -> ChapterFolder:
        names.append(folder.name)
        return read_chapter_folder(folder)

    monkeypatch.setattr(packs, "read_chapter_folder", noted)
    return names


def _catalog(course: Path, context: str = "") -> tuple[Catalog, str]:
    cache = ChapterCache(course.parent / "cache", [course], context)
    catalog = Catalog.read([course], cache.read)
    cache.store()
    return catalog, cache.digest([course])


def test_a_course_in_which_nothing_changed_is_the_same_without_being_read(course: Path, read: list[str]) -> None:
    first, digest = _catalog(course)
    assert read == [*CHAPTERS]
    again, same = _catalog(course)
    assert read == [*CHAPTERS]
    assert (again, same) == (first, digest)
    assert again == Catalog.read([course])
    assert [one.id for one in again.spoken("de").exercises] == [one.id for one in first.spoken("de").exercises]
    for one, other in zip(again.exercises, first.exercises, strict=True):
        assert (one.digest, one.variant(7)) == (other.digest, other.variant(7))


def _edit(folder: Path) -> None:
    file = next(one for one in folder.glob("*.yaml") if one.name != "topic.yaml" and one.stem.count(".") == 0)
    file.write_text(file.read_text(encoding="utf-8") + "# a remark\n", encoding="utf-8")


def _edit_topic(folder: Path) -> None:
    file = folder / "topic.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("summary: ", "summary: New. ", 1), encoding="utf-8")


def _remove(folder: Path) -> None:
    file = next(one for one in folder.glob("*.yaml") if one.name != "topic.yaml" and one.stem.count(".") == 0)
    for path in folder.glob(f"{file.stem}.*"):
        path.unlink()


def _translate(folder: Path) -> None:
    file = next(folder.glob("*.de.yaml"))
    file.write_text(file.read_text(encoding="utf-8") + "\n", encoding="utf-8")


def _add_image(folder: Path) -> None:
    (folder / "image.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><title>A</title></svg>')


@pytest.mark.parametrize("change", [_edit, _edit_topic, _remove, _translate, _add_image])
def test_a_chapter_is_read_again_after_any_change_and_no_other(
    change: Callable[[Path], None], course: Path, read: list[str]
) -> None:
    _, before = _catalog(course)
    read.clear()
    change(course / "testtime")
    catalog, after = _catalog(course)
    assert read == ["testtime"]
    assert catalog == Catalog.read([course])
    assert after != before
    read.clear()
    assert _catalog(course) == (catalog, after)
    assert read == []


def test_what_else_a_course_depends_on_makes_all_of_it_be_read(
    course: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, before = _catalog(course, "a formula")
    _, after = _catalog(course, "another")
    assert before != after
    monkeypatch.setattr(packs, "version_digest", lambda: "another version")
    _catalog(course, "another")
    assert read == [*CHAPTERS] * 3


def test_a_file_that_is_wrong_is_reported_at_each_start(course: Path) -> None:
    _catalog(course)
    wrong = course / "overlap" / "wrong.yaml"
    wrong.write_text("kind: numeric\n")
    for _ in range(2):
        with pytest.raises(ContentError) as error:
            _catalog(course)
        assert {problem.path for problem in error.value.problems} == {wrong}


def test_a_file_that_cannot_be_read_does_not_stop_the_others(course: Path) -> None:
    (course / "overlap" / "gone.txt").symlink_to(course / "nowhere")
    first, _ = _catalog(course)
    assert _catalog(course)[0] == first


def test_the_cache_of_a_course_may_be_deleted_and_damaged(tmp_path: Path) -> None:
    settings = Settings(cache=tmp_path)
    first = read_course(settings)
    (file,) = (tmp_path / "course").iterdir()
    file.write_bytes(file.read_bytes()[:-5])
    assert read_course(settings) == first
    shutil.rmtree(tmp_path)
    again = read_course(settings)
    assert (again, again.digest) == (first, first.digest)


def test_another_exercise_is_another_course(tmp_path: Path) -> None:
    catalog = read_course(Settings(cache=tmp_path))
    assert catalog.digest
    assert not catalog.with_exercise(catalog.exercises[0]).digest

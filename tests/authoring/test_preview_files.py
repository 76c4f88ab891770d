"""The files of a preview: found, read, stored and graded, without its server."""

import asyncio
import stat
from pathlib import Path

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from app.authoring.preview import (
    GONE,
    SEEDS,
    AuthoringPreview,
    ChangedFileError,
    files_of,
    read_text,
    save_text,
    stamp_of,
    with_line_ends,
)
from app.core.errors import InputError, NotFoundError
from app.core.yaml_file import LARGEST
from app.site import Site
from tests.content.test_catalog import GOOD
from tests.each import each

KEY = "the-key-of-this-page"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two exercises that can be read, one that cannot, a translation and a chapter."""
    made = tmp_path / "my-course"
    made.mkdir()
    for name, text in (("b", GOOD), ("a", GOOD), ("broken", "kind: ["), ("a.de", "of: x"), ("topic", "title: T")):
        (made / f"{name}.yaml").write_text(text)
    (made / "notes.txt").write_text("x")
    return made


def test_the_files_of_a_folder_are_its_exercises_and_one_that_cannot_be_read_is_last(folder: Path) -> None:
    assert list(files_of(folder)) == ["a", "b", "broken"]
    assert list(files_of(folder / "a.yaml")) == ["a"]
    assert list(files_of(folder / "a.de.yaml")) == ["a.de"], "one that is named is taken"
    with pytest.raises(InputError, match="is not an exercise file, nor a folder with one"):
        files_of(folder / "none")


def test_a_file_is_read_with_simple_line_ends_or_says_why_it_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    assert (read_text(path).stamp, read_text(path).text, stamp_of(path)) == (GONE, "", GONE)
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert (read_text(path).text, read_text(path).trouble) == ("a\nb\nc\n", "")
    first = stamp_of(path)
    path.write_bytes(b"\xff")
    assert read_text(path).trouble == "The file is not UTF-8."
    assert stamp_of(path) != first
    path.write_bytes(b"x" * (LARGEST + 1))
    assert read_text(path).trouble.startswith("The file ")
    assert "-" in stamp_of(path), "of one that is too large, its time and its size"
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    assert "symbolic link" in read_text(link).trouble


def test_a_text_is_stored_if_nobody_else_has_changed_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    stamp = save_text(path, "one\n", GONE)
    assert (path.read_bytes(), stamp) == (b"one\n", stamp_of(path))
    path.chmod(0o640)
    with pytest.raises(ChangedFileError):
        save_text(path, "two\n", GONE)
    assert save_text(path, "two\n", stamp) == stamp_of(path) != stamp
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [one.name for one in tmp_path.iterdir()] == ["a.yaml"]
    with pytest.raises(InputError, match=f"more than {LARGEST:,} bytes"):
        save_text(path, "x" * (LARGEST + 1), stamp_of(path))
    assert save_text(path, "x" * LARGEST, stamp_of(path))
    with pytest.raises(InputError, match="cannot be written: no such file"):
        save_text(tmp_path / "none" / "a.yaml", "x", GONE)


@each(
    ("text", "before", "after"),
    [
        ("a\nb\n", "", "a\nb\n"),
        ("a\nb\n", "x\r\ny\r\nz\n", "a\r\nb\r\n"),
        ("x\nnew\n", "x\ry\r\nz\r\n", "x\rnew\r\n"),
        ("a", "\ufeffx\n", "\ufeffa"),
        ("a\na\n", "a\r\na\n", "a\r\na\n"),
    ],
)
def test_lines_keep_their_ends_and_new_ones_get_the_usual(text: str, before: str, after: str) -> None:
    assert with_line_ends(text, before) == after


def preview(site: Site, folder: Path, *, locked: bool = False) -> AuthoringPreview:
    return AuthoringPreview(files_of(folder), site, KEY, locked=locked)


def test_a_file_is_asked_for_by_its_name_and_the_first_without_one(site: Site, folder: Path) -> None:
    made = preview(site, folder)
    assert (made.file("b").stem, made.file("").stem) == ("b", "a")
    with pytest.raises(NotFoundError, match="no file here is called 'c'"):
        made.file("c")
    page = made.page("b")
    assert (page.name, page.file.text, page.locked, page.shown) == ("b", GOOD, False, True)
    assert [link.href for link in page.drawings] == [f"/exercises/my-course/b?seed={seed}" for seed in SEEDS]
    assert [link.href for link in page.others] == [f"/preview?name={name}" for name in ("a", "b", "broken")]
    assert not made.page("broken").shown
    hidden = preview(site, folder, locked=True).page("b")
    assert (hidden.file.text, hidden.locked, hidden.file.stamp) == ("", True, page.file.stamp)


def test_only_who_has_the_key_may_send_and_if_it_is_locked_read(site: Site, folder: Path) -> None:
    def may(locked: bool, key: str, *, reads: bool) -> bool:
        made = preview(site, folder, locked=locked)
        request = Request({"type": "http", "method": "POST", "headers": [], "app": made.app, "path": "/"})
        try:
            asyncio.run(made.admit_reader(request, key) if reads else made.admit(request, key))
        except HTTPException as refused:
            assert refused.status_code == 403
            return False
        return True

    assert [may(False, key, reads=False) for key in (KEY, "", "x", "ä")] == [True, False, False, False]
    assert [may(locked, "", reads=True) for locked in (False, True)] == [True, False]
    assert may(True, KEY, reads=True)


def test_the_right_answer_and_each_foreseen_mistake_are_graded(site: Site, folder: Path) -> None:
    made = preview(site, folder)
    path = made.file("a")
    proof = asyncio.run(made.drafts.prove(path, path.read_bytes(), site.runner))
    assert [one.correct for one in proof.answers] == [True, False, False]
    assert proof.shown
    assert "That is once." in proof.answers[1].feedback[-1]
    broken = asyncio.run(made.drafts.prove(path, b"kind: [", site.runner))
    assert (broken.answers, broken.shown) == ((), False)

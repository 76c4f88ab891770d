"""Course packs: what a pack.yaml says of the course, and Python that runs only if agreed to."""

import os
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from app.core.errors import ContentError
from app.core.formulas import FORMULAS, formula_value, lookup
from app.course.content.catalog import Catalog
from app.course.content.course import CoursePack, arrange_catalog, read_course, read_pack, read_packs
from app.server.config import Settings
from tests.content.test_catalog import GOOD

TOPIC = "title: My week\nposition: 50\nsummary: A chapter of mine.\nopening: Look.\n"
HEAD = 'name: mine\ntitle: My course\nversion: "1.0"\n'
FORMULA = '''
from app.core.formulas.checks import positive
from app.core.units import Bytes, BytesPerSecond, Seconds

{extra}

def sent_time(size: Bytes, bandwidth: BytesPerSecond) -> Seconds:
    """Time that a link carries."""
    return positive("size", size) / positive("bandwidth", bandwidth)
'''
Make = Callable[..., Path]


@pytest.fixture(autouse=True)
def _no_formula_of_another_test(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {name: one for name, one in FORMULAS._functions.items() if not name.startswith("mine.")}
    monkeypatch.setattr(FORMULAS, "_functions", own)
    monkeypatch.setattr(FORMULAS, "_known", {})


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes a pack with a chapter called my-week, and returns its folder."""

    def make(more: str = "", formula: str = "", name: str = "pack", head: str = HEAD) -> Path:
        folder = tmp_path / name
        chapter = folder / "exercises" / "my-week"
        chapter.mkdir(parents=True, exist_ok=True)
        (chapter / "one.yaml").write_text(GOOD)
        (chapter / "topic.yaml").write_text(TOPIC)
        (folder / "pack.yaml").write_text(head + more)
        if formula:
            (folder / "formulas").mkdir(exist_ok=True)
            (folder / "formulas" / "links.py").write_text(formula)
        return folder

    return make


@pytest.fixture(autouse=True)
def _own_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test adds to the formulas is gone after it."""
    monkeypatch.setattr(FORMULAS, "_functions", dict(FORMULAS._functions))


def course(catalog: Catalog, folder: Path) -> Catalog:
    """The course of the built-in *catalog* and the pack in *folder*."""
    pack = read_pack(folder)
    own = Catalog.read([pack.chapters])
    both = Catalog((*catalog.topics, *own.topics), {**catalog.by_id, **own.by_id})
    return arrange_catalog(both, [pack])


def refusal(folder: Path, catalog: Catalog) -> str:
    with pytest.raises(ContentError) as caught:
        course(catalog, folder)
    assert all(problem.cure for problem in caught.value.problems)
    return str(caught.value)


def test_chapters_come_in_the_order_and_with_the_names_of_the_pack(make: Make, catalog: Catalog) -> None:
    found = course(catalog, make("order: [my-week, memory]\nnames: {memory: Week 2}\n"))
    assert [topic.id for topic in found.topics[:3]] == ["my-week", "memory", catalog.topics[0].id]
    assert found.topic("memory").title == "Week 2"
    assert len(found.topics) == len(catalog.topics) + 1


def test_a_hidden_chapter_is_not_listed_and_still_opens(make: Make, catalog: Catalog) -> None:
    found = course(catalog, make("hide: [memory]\n"))
    assert "memory" not in {topic.id for topic in found.topics}
    assert not [one for one in found.exercises if one.id.startswith("memory/")]
    assert found.topic("memory").exercises == catalog.topic("memory").exercises
    gone = catalog.topic("memory").exercises[0]
    assert found.exercise(gone.id) is gone


def test_all_built_in_chapters_may_be_hidden_but_for_those_picked_from(make: Make, catalog: Catalog) -> None:
    more = "hide: all\npick: {collectives: [ring-all-reduce-time]}\n"
    found = course(catalog, make(more))
    assert [topic.id for topic in found.topics] == ["collectives", "my-week"]
    assert [one.id for one in found.exercises] == ["collectives/ring-all-reduce-time", "my-week/one"]
    other = catalog.exercise("collectives/write-ring-time")
    assert found.topic_of(other).exercises == catalog.topic("collectives").exercises
    assert found.topic_of(found.exercises[0]).exercises == found.exercises[:1]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("order: [memori]\n", "pack.yaml:4: order.0: no chapter is called 'memori'; did you mean 'memory'?"),
        ("hide: [my_week]\n", "hide.0: no chapter is called 'my_week'; did you mean 'my-week'?"),
        ("pick: {memory: [nonsense-one]}\n", "pick.memory.0: no exercise of it is called 'nonsense-one'"),
        ("names: {nothing: Ours}\n", "names.nothing: no chapter is called 'nothing'"),
    ],
)
def test_a_name_that_there_is_not_is_offered_the_nearest(make: Make, catalog: Catalog, more: str, says: str) -> None:
    assert says in refusal(make(more), catalog)


@pytest.mark.parametrize(
    ("head", "says"),
    [
        (HEAD.replace("mine", "My Course"), "name: is My Course"),
        (HEAD.replace("mine", "1st-course"), "name: is 1st-course"),
        (HEAD.replace('"1.0"', "one"), "version: 'one' is not a version"),
        (HEAD + 'needs: ">=900"\n', f"this is Wallclock {version('wallclock')}, and it needs >=900"),
        (HEAD + "needs: about one\n", "'about one' names no versions"),
        (HEAD + "points: 3\n", "points: is not known here"),
        (HEAD.replace("title: My course\n", ""), "title: is missing"),
        (HEAD + "home: {title: Hello}\n", "home.opening: is missing"),
    ],
)
def test_a_pack_that_is_wrong_about_itself_is_refused(make: Make, head: str, says: str) -> None:
    with pytest.raises(ContentError) as caught:
        read_pack(make(head=head))
    assert says in str(caught.value)
    assert all(problem.cure for problem in caught.value.problems)


def test_a_pack_file_that_cannot_be_read_is_not_a_pack_without_wishes(make: Make) -> None:
    file = make() / "pack.yaml"
    file.unlink()
    file.symlink_to("pack.yaml")
    with pytest.raises(ContentError, match="cannot be read: too many levels"):
        read_pack(file.parent)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(ContentError, match="not a regular file"):
        read_pack(file.parent)


def test_two_packs_of_one_name_or_two_front_pages_are_refused(make: Make, catalog: Catalog) -> None:
    home = "home: {title: Hello, opening: Welcome.}\n"
    one = make(home)
    with pytest.raises(ContentError, match="a pack called 'mine' is in .*pack as well"):
        read_packs([one, make(home, name="other")])
    both = [read_pack(one), read_pack(make(home, name="other"))]
    with pytest.raises(ContentError, match="brings a front page as well; remove `home`"):
        arrange_catalog(catalog, both)
    assert arrange_catalog(catalog, both[:1]).front == ("Hello", "Welcome.")


def test_python_of_a_pack_is_not_run_before_the_operator_agrees(make: Make, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    formula = FORMULA.format(extra=f"open({str(touched)!r}, 'w').close()")
    folder = make(formula=formula)
    with pytest.raises(ContentError, match="loaded only if you agree; read them") as caught:
        read_course(Settings(exercises=(folder,)))
    assert not touched.exists()
    assert "mine.sent_time" not in FORMULAS
    consent = caught.value.problems[0].cure.rpartition("=")[2]
    read_course(Settings(exercises=(folder,), pack_code=(consent,)))
    assert touched.exists()
    assert formula_value(lookup("mine.sent_time"), {"size": "3 GB", "bandwidth": "1 GB/s"}) == 3


def test_a_changed_formula_needs_a_new_consent_unless_the_folder_is_trusted(make: Make) -> None:
    folder = make(formula=FORMULA.format(extra=""))
    with pytest.raises(ContentError) as caught:
        read_course(Settings(exercises=(folder,)))
    consent = caught.value.problems[0].cure.rpartition("=")[2]
    make(formula=FORMULA.format(extra="# one more line"))
    with pytest.raises(ContentError, match="loaded only if you agree"):
        read_course(Settings(exercises=(folder,), pack_code=(consent,)))
    read_course(Settings(exercises=(folder,), pack_code=(str(folder),)))
    assert "mine.sent_time" in FORMULAS


def test_a_formula_may_import_what_it_needs_by_its_former_name(make: Make) -> None:
    """As packs of version 0.2 do."""
    former = FORMULA.format(extra="import app.units").replace("app.core.", "app.")
    folder = make(formula=former)
    assert "from app.units import" in former
    read_course(Settings(exercises=(folder,), pack_code=(str(folder),)))
    assert "mine.sent_time" in FORMULAS


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("def f(:\n", "links.py:1: cannot be loaded: SyntaxError"),
        ("\nx = 1 / 0\n", "links.py:2: cannot be loaded: ZeroDivisionError"),
        ("def f(size: int) -> int:\n    return 1\n", "links.py:1: f: "),
    ],
)
def test_a_formula_that_cannot_be_loaded_is_told_with_its_line(make: Make, formula: str, says: str) -> None:
    folder = make(formula=formula)
    with pytest.raises(ContentError) as caught:
        read_course(Settings(exercises=(folder,), pack_code=(str(folder),)))
    assert says in str(caught.value)
    assert all(problem.cure for problem in caught.value.problems)


def test_formulas_need_a_name_of_their_own_and_a_folder_of_exercises(make: Make) -> None:
    formula = FORMULA.format(extra="")
    folder = make(formula=formula, head=HEAD.replace("mine", "memory"))
    with pytest.raises(ContentError, match="Wallclock's own formulas are called 'memory'"):
        read_course(Settings(exercises=(folder,)))
    (folder / "pack.yaml").unlink()
    with pytest.raises(ContentError, match="needs a pack.yaml"):
        read_course(Settings(exercises=(folder,)))


@pytest.mark.parametrize("consent", ["mine", "mine@abc", "relative/folder"])
def test_a_consent_that_means_nothing_is_refused(monkeypatch: pytest.MonkeyPatch, consent: str) -> None:
    monkeypatch.setenv("WALLCLOCK_PACK_CODE", consent)
    with pytest.raises(ValueError, match="neither NAME@DIGEST"):
        Settings()


def test_a_folder_of_chapters_without_a_pack_file_is_a_pack_without_wishes(
    exercise_file: Callable[[str], Path],
) -> None:
    folder = exercise_file(GOOD).parent.parent
    assert read_pack(folder) == CoursePack(folder, folder)

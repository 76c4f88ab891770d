"""Links and images in the texts of an exercise: what is broken, and what would cure it."""

from pathlib import Path

import pytest

from app.authoring.proofs import Places, prove_addresses
from app.core.folders import ROOT
from app.course.content.errata import terms
from app.course.explorers import EXPLORERS
from tests.content.test_images import SVG
from tests.each import each

RING = "collectives/ring-all-reduce-time"
WHERE = ("prompt",)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    """The course, and a pack with a chapter of images."""
    folder = tmp_path_factory.mktemp("pack")
    (folder / "mine").mkdir()
    (folder / "mine" / "one.yaml").touch()
    (folder / "mine" / "one.de.yaml").touch()
    (folder / "mine" / "ring.svg").write_text(SVG.format("<path d='M0 0h1'/>"))
    (folder / "mine" / "bad.svg").write_text(SVG.format("<script>alert(1)</script>"))
    (folder / "mine" / "notes.txt").write_text("no image")
    return Places([ROOT / "exercises", folder])


def test_the_places_are_the_exercises_and_not_their_translations(places: Places) -> None:
    assert {RING, "mine/one"} <= places.exercises
    assert "mine/one.de" not in places.exercises
    assert {"collectives", "mine"} <= places.chapters


@each(
    "address",
    [
        "https://example.org/a", "http://example.org", "mailto:a@example.org", "//example.org/a", "/", "/formulas",
        "/formulas/", "/formulas/collectives.ring_all_reduce_time", "/chapters/mine", "/exercises/mine/one",
        f"/exercises/{RING}?seed=3", "/labs/all-reduce", "/labs/all-reduce/some-run", "/glossary", *(f"/glossary#{name}" for name in list(terms())[:2]),
        *(f"/explore/{name}" for name in list(EXPLORERS)[:2]), "/static/app.css", "/api/v1/openapi.json",
    ],
)  # fmt: skip
def test_a_link_that_leads_somewhere_is_fine(address: str, places: Places) -> None:
    assert list(prove_addresses(WHERE, f"[a]({address})", places)) == []


@each(
    ("address", "says"),
    [
        ("formulas", "a link must begin with https:// or /"),
        ("ftp://example.org", "a link must begin with https:// or /"),
        ("/formula", "the link /formula is broken; did you mean 'formulas'"),
        ("/formulas/collectives.ring", "no formula is called 'collectives.ring'"),
        ("/chapters/collective", "no chapter is called 'collective'; did you mean 'collectives'"),
        ("/exercises/collectives/ring", "no exercise is called 'collectives/ring'"),
        ("/exercises/mine/one.de", "no exercise is called 'mine/one.de'"),
        ("/labs/all-reduces", "did you mean"),
        ("/labs/none/all-reduce", "none"),
        ("/explore/nothing", "nothing"),
        ("/glossary#nothing", "no entry of /glossary is called 'nothing'"),
        ("/errata/nothing", "no erratum is called 'nothing'"),
        ("/static/none.css", "is broken"),
        ("/static", "is broken"),
    ],
)
def test_a_link_that_leads_nowhere_is_told_with_its_cure(address: str, says: str, places: Places) -> None:
    (found,) = prove_addresses(WHERE, f"[a]({address})", places)
    assert found.where == WHERE
    assert says in found.says
    assert found.cure == "link to an existing page, or to https://..."


@each("address", ["/images/mine/ring.svg"])
def test_an_image_of_a_chapter_is_fine(address: str, places: Places) -> None:
    assert list(prove_addresses(WHERE, f"![a ring]({address})", places)) == []
    static = next(path for path in sorted((ROOT / "static").rglob("*.svg")))
    assert list(prove_addresses(WHERE, f"![a](/{static.relative_to(ROOT).as_posix()})", places)) == []


@each(
    ("address", "says"),
    [
        ("https://example.org/a.png", "is on another site"),
        ("//example.org/a.png", "is on another site"),
        ("/images/mine/none.svg", "the image /images/mine/none.svg does not exist"),
        ("/images/mine/notes.txt", "does not exist"),
        ("/images/mine", "does not exist"),
        ("/mine/ring.svg", "does not exist"),
        ("mine/ring.svg", "does not exist"),
        ("/static/none.svg", "does not exist"),
        ("/static", "does not exist"),
        ("/images/mine/bad.svg", "the image bad.svg"),
    ],
)
def test_an_image_that_is_not_served_is_told_with_its_cure(address: str, says: str, places: Places) -> None:
    (found,) = prove_addresses(WHERE, f"![a]({address})", places)
    assert found.where == WHERE
    assert says in found.says
    assert "beside this file as .png" in found.cure


def test_an_image_needs_a_description(places: Places) -> None:
    for text in ("![](/images/mine/ring.svg)", "![ \n](/images/mine/ring.svg)"):
        (found,) = prove_addresses(WHERE, text, places)
        assert found.says == "an image has no description"


def test_every_problem_of_a_text_is_told(places: Places) -> None:
    text = "[a](/none) ![b](/images/none.png) [c](/glossary) [d](/formulas/none)"
    assert len(list(prove_addresses(WHERE, text, places))) == 3


def test_a_place_without_folders_has_nothing() -> None:
    assert Places([]).exercises == frozenset()
    assert list(prove_addresses(WHERE, "[a](/exercises/a/b)", Places([Path("/nowhere")])))

"""The social picture of every page: its own, legible, silent about answers, and bounded."""

import asyncio
import re
import struct
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from html import unescape

import pytest
from fastapi.testclient import TestClient
from fontTools.ttLib import TTFont  # type: ignore[import-untyped]
from httpx2 import ASGITransport, AsyncClient
from starlette.exceptions import HTTPException

from app.charts.card import PictureCard, card_svg
from app.config import ROOT
from app.content.catalog import Catalog
from app.content.errata import errata
from app.explorers import EXPLORERS, open_explorer, predicted_figure
from app.formulas import FORMULAS
from app.labs.results.archive import shipped_runs
from app.labs.spec import known_labs, lab_called
from app.web.course.chapter_view import chapter_card
from app.web.exercise.card import exercise_card
from app.web.explore.card import explorer_card
from app.web.labs.cards import lab_card, run_card
from app.web.reference.cards import erratum_card, formula_card
from app.web.share.studio import Studio
from tests.each import each
from tests.pages import RUN

FONTS = ROOT / "static" / "fonts"
HOSTILE = '<script>alert(1)</script> & "quoted" ]]> {{ 7 * 7 }}'
GIVEN = "size=1+GB&ranks=8&bandwidth=50+GB%2Fs"
PAGES = (
    "/explore/ring?ranks=12",
    "/explore/ring?ranks=5",
    "/explore/ring",
    "/errata/E-01",
    "/formulas/collectives.ring_all_reduce_time",
    "/chapters/collectives",
    f"/formulas/collectives.ring_all_reduce_time?{GIVEN}",
    "/labs/algorithms",
    "/labs/ring-bytes",
    "/labs/algorithms/board",
    RUN,
    "/exercises/collectives/ring-all-reduce-time?seed=3",
)


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def letters_of(svg: str) -> set[str]:
    """What is written in *svg*, titles of its parts aside."""
    kinds = ("text", "tspan")
    own = "{http://www.w3.org/2000/svg}"
    root = ET.fromstring(svg)
    texts = (text for kind in kinds for node in root.iter(own + kind) for text in node.itertext())
    return set("".join(texts))


def cards(catalog: Catalog) -> Iterator[PictureCard]:
    for name, explorer in EXPLORERS.items():
        found = open_explorer(EXPLORERS, name)
        for hidden in (True, False):
            yield explorer_card(explorer, "Chapter", found.values, found.shown, hidden=hidden)
    yield from map(erratum_card, errata())
    yield from map(formula_card, FORMULAS.values())
    yield from map(chapter_card, catalog.topics)
    for exercise in catalog.exercises:
        yield exercise_card(exercise, "Chapter", 5)
    yield from (lab_card(lab_called(name)) for name in known_labs())
    yield from (run_card(lab_called(run.lab), run) for run in shipped_runs())


def picture_of(client: TestClient, page: str) -> str:
    (link,) = re.findall(r'property="og:image" content="([^"]*)"', client.get(page).text)
    return unescape(link).removeprefix("http://testserver")


def test_a_page_is_shared_with_a_picture_of_its_own(client: TestClient) -> None:
    tags = set()
    for page in PAGES:
        drawn = client.get(picture_of(client, page))
        assert drawn.headers["content-type"] == "image/png", page
        assert size_of(drawn.content) == (1200, 630)
        assert len(drawn.content) < 150_000
        assert "max-age" in drawn.headers["cache-control"]
        tags.add(drawn.headers["etag"])
    assert len(tags) == len(PAGES)


def test_the_renderer_is_imported_in_processes_of_its_own_alone() -> None:
    pattern = re.compile(r"(?:from|import) (?:resvg_py|\S*\bpainter)\b")
    files = (path for path in (ROOT / "app").rglob("*.py") if "bundle" not in path.parts)
    found = [path.name for path in files if pattern.search(path.read_text(encoding="utf-8"))]
    assert found == ["painter.py"]


def test_the_picture_of_a_calculation_has_its_result_and_no_other(client: TestClient) -> None:
    formula = FORMULAS["collectives.ring_all_reduce_time"]
    page = f"/formulas/{formula.name}"
    assert "35 ms. Ring all reduce time" in client.get(f"{page}?{GIVEN}").text  # what is seen
    for lacking in ("", "?size=1+GB", "?size=1+GB&ranks=no&bandwidth=1+GB%2Fs", "?junk=1"):
        assert picture_of(client, page + lacking) == f"/pictures{page}.png"
    assert formula_card(formula).key == ""


def test_the_picture_of_a_lab_does_not_tell_what_it_measures() -> None:
    for name in known_labs():
        assert lab_card(lab_called(name)).figure is None
        assert lab_card(lab_called(name)).emblem
    measured = [run_card(lab_called(run.lab), run) for run in shipped_runs()]
    assert sum(card.figure is not None for card in measured) > len(measured) / 2


def test_a_state_that_there_is_not_has_the_picture_of_the_nearest(client: TestClient) -> None:
    right, far = (f"/pictures/explore/ring.png?ranks={ranks}" for ranks in (12, 10**9))
    drawn = client.get(right)
    assert client.get(f"{far}&unknown=1").content == drawn.content
    known = client.get(right, headers={"If-None-Match": drawn.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")
    for name in ("explore/rng", "errata/E-00", "formulas/x.y", "exercises/a/b", "chapters/c", "guess/2020-01-01"):
        assert client.get(f"/pictures/{name}.png").status_code == 404


def test_what_is_shared_has_the_title_and_the_address_of_its_state(client: TestClient) -> None:
    page = client.get("/explore/ring?ranks=12").text
    assert 'og:title" content="What moves around the ring? · Ranks 12"' in page
    assert 'og:url" content="http://testserver/explore/ring?step=3&amp;ranks=12&amp;' in page


def test_a_picture_has_letters_rather_than_boxes(catalog: Catalog) -> None:
    known = {chr(code) for font in (FONTS / "drawn").iterdir() for code in TTFont(font).getBestCmap()}
    missing = {letter: card.title for card in cards(catalog) for letter in letters_of(card_svg(card)) - known - {"\n"}}
    assert missing == {}


def test_every_text_of_a_picture_is_drawn() -> None:
    async def draw() -> set[bytes]:
        studio, pngs = Studio(), set()
        for kicker, title, says, code in ("abcd", "xbcd", "axcd", "abxd", "abcx"):
            svg = card_svg(PictureCard(kicker=kicker, title=title, says=says, code=code))
            pngs.add((await studio.picture((svg,), lambda: svg, lambda: None)).png)  # noqa: B023
        return pngs

    assert len(asyncio.run(draw())) == 5


def test_the_fonts_of_pictures_are_those_of_pages() -> None:
    for font in (FONTS / "drawn").iterdir():
        page = TTFont(FONTS / f"{font.stem.partition('-')[0]}.woff2")
        assert set(TTFont(font).getBestCmap()) == set(page.getBestCmap())
        assert str(TTFont(font)["name"].getDebugName(1)) == str(page["name"].getDebugName(1))


def test_a_picture_needs_no_variables_and_takes_any_text(catalog: Catalog) -> None:
    for card in cards(catalog):
        assert "var(" not in card_svg(card), card.title
    hostile = PictureCard(kicker=HOSTILE, title=HOSTILE, says=HOSTILE * 40, key=HOSTILE, code=HOSTILE * 9)
    assert "<script" not in card_svg(hostile)
    ET.fromstring(card_svg(hostile))


@each("name", EXPLORERS)
def test_the_picture_of_a_question_does_not_answer_it(name: str) -> None:
    found = open_explorer(EXPLORERS, name)
    card = explorer_card(found.explorer, "", found.values, found.shown, hidden=True)
    fact = predicted_figure(found.explorer, found.shown)
    assert fact
    assert fact.value not in f"{card.alt} {getattr(card.figure, 'summary', '')}"
    assert card.figure is None or found.explorer.open


def test_the_picture_of_an_exercise_says_no_more_than_its_question(catalog: Catalog) -> None:
    for exercise in catalog.exercises:
        card = exercise_card(exercise, "", 3)
        said, asked = (set(re.sub(r"[`*\[\]]", "", text).split()) for text in (card.says, exercise.variant(3).prompt))
        assert said <= asked, exercise.id
        assert (card.key, card.code, card.figure) == ("", "", None)


def simple(title: str) -> Callable[[], str]:
    return lambda: f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><!-- {title} --></svg>'


def test_few_pictures_are_drawn_at_once_each_once_and_few_are_kept() -> None:
    async def ask() -> tuple[list[object], int]:
        studio, made = Studio(room=200), []

        def drawn(title: str) -> Callable[[], str]:
            return lambda: made.append(title) or simple(title)()  # type: ignore[func-returns-value]

        asked = [studio.picture((str(n % 50),), drawn(str(n % 50)), lambda: None) for n in range(100)]
        answers: list[object] = await asyncio.gather(*asked, return_exceptions=True)
        first = len(made)
        await studio.picture(("0",), drawn("0"), lambda: None)  # the room is for one or two
        assert len(made) == first + 1
        return answers, first

    answers, drawn = asyncio.run(ask())
    busy = [one for one in answers if isinstance(one, HTTPException)]
    assert 0 < drawn <= 8
    assert len(busy) == 100 - 2 * drawn
    assert {(one.status_code, str((one.headers or {}).get("Retry-After"))) for one in busy} == {(503, "2")}


def test_what_is_not_admitted_is_not_drawn_and_a_failure_is_not_kept() -> None:
    def refused() -> None:
        raise HTTPException(429, "too many")

    def broken() -> str:
        raise ValueError("no figure")

    async def ask() -> None:
        studio = Studio()
        with pytest.raises(HTTPException, match="too many"):
            await studio.picture(("a",), broken, refused)
        with pytest.raises(ValueError, match="no figure"):
            await studio.picture(("a",), broken, lambda: None)
        kept = await studio.picture(("a",), simple("a"), lambda: None)
        assert kept is await studio.picture(("a",), broken, refused)

    asyncio.run(ask())


def test_a_hundred_states_at_once_leave_the_server_answering(client: TestClient) -> None:
    async def crowd() -> tuple[list[int], float]:
        transport = ASGITransport(app=client.app)
        async with AsyncClient(transport=transport, base_url="http://crowd") as visitor:
            asked = [
                asyncio.create_task(visitor.get(f"/pictures/explore/pipeline.png?microbatches={n + 1}"))
                for n in range(100)
            ]
            longest = 0.0
            while not all(task.done() for task in asked):
                begun = time.thread_time()  # of the event loop: pictures are drawn in others
                assert (await visitor.get("/livez")).status_code == 200
                longest = max(longest, time.thread_time() - begun)
                await asyncio.sleep(0.01)
            return [task.result().status_code for task in asked], longest

    client.app.state.studio = Studio()  # type: ignore[attr-defined]
    codes, longest = asyncio.run(crowd())
    assert set(codes) <= {200, 429, 503}
    assert codes.count(200) <= 8
    assert longest < 1.0  # seconds of processor time


def test_only_a_visitor_from_elsewhere_is_welcomed(client: TestClient) -> None:
    welcome = "Start here</a></p></aside>"
    for page in PAGES:
        assert welcome in client.get(page).text
    inside = {"Sec-Fetch-Site": "same-origin"}
    assert welcome not in client.get("/errata/E-01", headers=inside).text
    assert welcome not in client.get("/").text
    client.post("/exercises/collectives/ring-all-reduce-time", data={"answer": "35 ms"})
    assert welcome not in client.get("/errata/E-01").text

import re
from html import unescape

from fastapi.testclient import TestClient

from app.course.kinds.base import EmbeddedFigures
from app.server.db.learner_cookie import unsign
from app.server.db.session import open_session
from app.server.db.stored_records import StoredRecords
from app.site import Site
from app.site.web.explore.figures import embedded_view
from app.site.web.frame.visitor import COOKIE

INTERLEAVED = "/exercises/pipelines/interleaved"
RING = "/exercises/collectives/bytes-sent-by-a-ring"


def test_a_chapter_shows_a_figure_and_covers_what_it_asks(client: TestClient) -> None:
    tensor = client.get("/chapters/tensor").text
    assert "Sent by each GPU" in tensor
    assert "Change the numbers" in tensor
    checkpoints = client.get("/chapters/checkpoints").text
    assert 'name="guess"' in checkpoints
    assert 'name="predict" value="1"' in checkpoints
    assert "Time wasted" in checkpoints
    assert "68.59 min" not in checkpoints


def test_an_exercise_shows_its_figures_once_it_is_solved(client: TestClient) -> None:
    before = client.get(f"{INTERLEAVED}?seed=2").text
    assert "data-figure" not in before
    shown = client.post(f"{INTERLEAVED}?seed=2", data={"action": "solution"}).text
    assert shown.count("data-figure") == 4
    links = [unescape(link) for link in re.findall(r'href="(/explore/pipeline\?[^"]*)"', shown)]
    assert any("stages=8&microbatches=16" in link and "virtual=4" in link for link in links)
    assert all(client.get(link).status_code == 200 for link in links)


def test_the_first_page_moves_for_a_newcomer_and_shows_no_answer(client: TestClient) -> None:
    first = client.get("/").text
    assert "Start here" in first
    assert first.count("data-runs") == first.count("data-frames") == 1
    assert "1.75" not in first
    client.post(RING, data={"answer": "1.75 GB"})
    assert "data-frames" not in client.get("/").text


def test_a_page_says_how_it_looks_where_it_is_shared(client: TestClient) -> None:
    page = client.get("/glossary").text
    (picture,) = re.findall(r'property="og:image" content="([^"]*)"', page)
    assert picture.startswith("http://testserver/static/social.")
    drawn = client.get(picture.removeprefix("http://testserver"))
    assert drawn.headers["content-type"] == "image/png"
    assert len(drawn.content) < 100_000
    assert 'property="og:url" content="http://testserver/glossary"' in page


def test_the_map_tells_what_was_tried_and_how_long_it_took(client: TestClient, site: Site) -> None:
    page = client.get(RING).text
    (begun,) = re.findall(r'name="begun" value="(\d+)"', page)
    early = str(int(begun) - 90)
    client.post(RING, data={"answer": "2 GB", "begun": early})
    client.post(RING, data={"answer": "1.75 GB", "begun": early})
    client.post("/exercises/hardware/ridge-point", data={"answer": "1", "begun": "soon"})
    progress = client.get("/progress").text
    assert 'class="square unaided" href="/exercises/collectives/bytes-sent-by-a-ring"' in progress
    assert 'class="square tried" href="/exercises/hardware/ridge-point"' in progress
    assert progress.count('class="square new" href') == len(site.catalog.exercises) - 2
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", progress))
    assert "solved without hints 1 of 2 1 min" in text
    assert "Right answers 1 of 3" in text


def test_time_counts_once_for_each_drawing(client: TestClient, site: Site) -> None:
    for seed, ago in ((0, 40), (0, 100), (3, 60)):
        page = client.get(f"{RING}?seed={seed}").text
        (begun,) = re.findall(r'name="begun" value="(\d+)"', page)
        client.post(f"{RING}?seed={seed}", data={"answer": "2 GB", "begun": str(int(begun) - ago)})
    client.post(f"{RING}?seed=4", data={"answer": "2 GB", "begun": "1"})  # open for decades
    learner = unsign(client.cookies[COOKIE], site.secret)
    with open_session(site.engine) as session:
        took = StoredRecords(session, learner or "").efforts()["collectives/bytes-sent-by-a-ring"]
        assert len(StoredRecords(session, learner or "").latest_attempts()) == 4
    assert took.answers == 4
    assert took.seconds is not None
    assert 160 <= took.seconds < 170


def test_an_embedded_figure_has_its_picture_its_table_and_files() -> None:
    view = embedded_view(EmbeddedFigures(explorer="pipeline"), {"stages": "3", "microbatches": "5"})
    assert view.guess is None
    for number, figure in enumerate(view.figures):
        assert figure.svg.startswith("<svg")
        assert len({len(row) for row in figure.table}) == 1
        assert f"/explore/pipeline/{number}.csv?" in figure.csv_href
        assert "stages=3" in figure.svg_href
        assert figure.href.endswith(f"#{figure.anchor}")
    assert view.figures[0].plays


def test_where_a_prediction_comes_first_its_figures_cover_it() -> None:
    view = embedded_view(EmbeddedFigures(explorer="pipeline", predict=True), {"stages": "3"})
    assert len(view.figures) == 2
    assert not any("20 %" in figure.svg for figure in view.figures)
    assert not any(figure.table for figure in view.figures)
    assert view.guess is not None
    assert ("stages", "3") in view.guess.state


def test_one_figure_of_several_can_be_chosen() -> None:
    whole = embedded_view(EmbeddedFigures(explorer="ring"), {})
    one = embedded_view(EmbeddedFigures(explorer="ring", figure=1), {})
    assert one.figures == whole.figures[1:2]


def test_a_page_has_each_figure_once_for_each_width_and_an_update_the_one_asked_for(client: TestClient) -> None:
    page = client.get("/explore/fit?show=1").text
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(set(ids)) == len(ids)
    assert page.count("bars wide") == page.count("bars narrow") == 3
    for asked, wide, narrow in (("narrow", 0, 3), ("wide", 3, 0), ("huge", 3, 3)):
        headers = {"X-Fragment": "1", "X-Paper": asked}
        update = client.get("/explore/fit?show=1", headers=headers).text
        assert (update.count("bars wide"), update.count("bars narrow")) == (wide, narrow)

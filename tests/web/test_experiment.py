import asyncio
import json
import re
from collections.abc import Mapping
from urllib.parse import urlencode

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, update
from sqlmodel import col, select

from app.core.measurements.published import published_tests, text_of
from app.core.measurements.reports import CollectiveTest
from app.course.content.catalog import Catalog
from app.course.kinds.choice import LabExercise
from app.labs.results.analysis import shipped_runs
from app.server.db.learner_cookie import new_learner, sign
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import PredictionRow
from app.site import Site
from app.site.labs.match import FITTED
from app.site.web.frame.visitor import COOKIE
from tests.calling import Caller

TREE = "/exercises/collectives/time-the-tree"
RIGHT, WRONG = "149.83 ms", "140 ms"


def post(client: TestClient, address: str = TREE, **fields: str) -> str:
    answer = client.post(address, data={k.replace("__", "."): v for k, v in fields.items()})
    assert answer.status_code == 200
    return str(answer.text)


def rows(page: str) -> Mapping[str, str]:
    """The table of predicted and measured: a line of text by its heading."""
    table = page.partition('aria-label="Predicted and measured"')[2].partition("</table>")[0]
    found = {}
    for head, rest in re.findall(r'<th scope="row">(.*?)</th>(.*?)</tr>', table, re.S):
        found[words(head)] = words(rest)
    return found


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_nothing_measured_is_shown_before_the_prediction_is_locked_in(client: TestClient) -> None:
    page = client.get(TREE).text
    assert rows(page) == {}
    assert "answer.cause" not in page
    assert "predict first: measurements are shown only after that" in post(
        client, action="check", answer__cause="late"
    ).replace("Predict", "predict")
    unreadable = post(client, action="predict", answer__time="soon")
    assert "cannot read" in unreadable
    assert 'value="soon"' in unreadable
    assert rows(unreadable) == {}


def test_a_prediction_is_locked_in_compared_and_explained(client: TestClient) -> None:
    page = post(client, action="predict", answer__time=RIGHT)
    table = rows(page)
    assert table["Your prediction"] == "149.8 ms ✓ right"
    assert table["The formula"] == "149.8 ms"
    assert "Time of the ring = collectives.ring_all_reduce_time (size, 4" in words(page)
    (recorded,) = (text for head, text in table.items() if "recorded, gloo" in head)
    assert re.fullmatch(
        r"1\d\d\.?\d* ms 1\.\d+ × yours, 1\.\d+ × the formula"
        r" min of \d+; min to p90: 1.* ms to .* ms",
        recorded,
    )
    # What comes later changes nothing.
    again = post(client, action="predict", answer__time=WRONG)
    assert rows(again)["Your prediction"] == "149.8 ms ✓ right"
    wrong = post(client, action="check", answer__cause="link", answer__time=WRONG)
    assert "The real transfer is hidden inside the emulated one" in wrong
    assert "Partly right: 1 of 2 right" in wrong
    right = post(client, action="check", answer__cause="late")
    assert 'data-state="correct"' in right
    assert "Worked solution" in right


def test_a_wrong_prediction_stays_wrong_and_another_drawing_helps(client: TestClient) -> None:
    post(client, action="predict", answer__time=WRONG)
    page = post(client, action="check", answer__cause="late", answer__time=RIGHT)
    assert 'data-state="partial"' in page
    assert "140 ms is too small" in page
    assert "Partly right: 1 of 2 right" in page
    assert f'<a href="{TREE}/another" rel="nofollow">Predict again with new numbers</a>' in page
    assert "Continue: " in page
    other = f"{TREE}?seed=3"
    assert rows(client.get(other).text) == {}
    assert "Your prediction" in rows(post(client, other, action="predict", answer__time=RIGHT))


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("75.1 ms", "There are two phases of three steps"),  # foreseen by its author
        ("149.83 s", "The number is right in ms"),  # a slip that anybody may make
        ("140 ms", "140 ms is too small"),
    ],
)
def test_a_wrong_prediction_is_diagnosed_at_once_beside_the_formula(client: TestClient, typed: str, says: str) -> None:
    before = client.get(TREE).text
    assert "149.8" not in before
    for page in (post(client, action="predict", answer__time=typed), client.get(TREE).text):
        verdicts = re.findall(r'<div class="feedback failure"><p>(.*?)</p></div>', page, re.S)
        assert [says in words(one) for one in verdicts] == [True]
        table = rows(page)
        assert table["Your prediction"].endswith("✗ wrong")
        assert table["The formula"] == "149.8 ms"
        assert '<a href="/formulas/collectives.ring_all_reduce_time">' in page
        assert "draws new numbers" in page
        assert 'name="answer.cause"' in page


def test_each_learner_has_predictions_of_their_own(client: TestClient) -> None:
    post(client, action="predict", answer__time=RIGHT)
    client.cookies.clear()
    assert rows(client.get(TREE).text) == {}


@pytest.mark.needs("torch")
def test_a_run_can_be_asked_for_once_it_is_predicted(client: TestClient) -> None:
    page = post(client, action="predict", answer__time=RIGHT)
    form = page.partition('<form id="lab-run"')[2].partition("</form>")[0]
    fields = dict(re.findall(r'name="([^"]+)" value="([^"]*)"', form))
    assert fields["run.ranks"] == "4"
    assert fields["run.sizes"] == "128KiB,1MiB,4MiB"
    assert fields["origin"] == "collectives/time-the-tree"
    answer = client.post("/labs/algorithms", data=fields)
    assert answer.status_code == 303
    page = client.get(answer.headers["location"]).text
    assert 'href="/exercises/collectives/time-the-tree#result"' in page
    client.post(f"{answer.headers['location']}/cancel")


@pytest.mark.needs("torch")
@pytest.mark.parametrize("origin", ["//evil.example", "collectives/no-such", "a?seed=x"])
def test_a_way_back_leads_to_exercises_only(client: TestClient, origin: str) -> None:
    fields = {"run.ranks": "2", "origin": origin, "guess": "1 MiB"}
    answer = client.post("/labs/ring-bytes", data=fields)
    page = client.get(answer.headers["location"]).text
    assert "Back to" not in page
    assert "evil" not in page
    client.post(f"{answer.headers['location']}/cancel")


def test_every_lab_exercise_shows_a_measurement_for_every_case(client: TestClient, catalog: Catalog) -> None:
    for exercise in catalog.exercises:
        if not isinstance(exercise, LabExercise):
            continue
        for seed in (0, 1, 2, 3):
            right = exercise.right_answer(seed)
            assert isinstance(right, dict)
            fields = {f"answer__{name}": text for name, text in right.items()}
            page = post(client, f"/exercises/{exercise.id}?seed={seed}", action="predict", **fields)
            table = rows(page)
            known = ("recorded", "published")
            shown = any(text and any(k in head for k in known) for head, text in table.items())
            assert shown or _asks_for_a_disturbed_fit(exercise), table


def _asks_for_a_disturbed_fit(exercise: LabExercise) -> bool:
    """Whether all that is asked is a line, and every recorded run of the lab was disturbed."""
    runs = [one for one in shipped_runs() if one.lab == exercise.lab]
    fits = [one.measured.partition("/")[2] in FITTED for one in exercise.predict.values()]
    return all(fits) and all(one.doubts for one in runs)


def test_what_was_predicted_goes_with_everything_else(client: TestClient) -> None:
    post(client, action="predict", answer__time=RIGHT)
    kept = client.get("/progress/export").json()
    assert json.loads(kept["predictions"][0]["answer"]) == {"time": RIGHT}


def test_a_prediction_of_something_else_is_made_anew(client: TestClient, site: Site) -> None:
    """As after its author has changed what the exercise asks for."""
    post(client, action="predict", answer__time=RIGHT)
    with open_writing_session(site.engine) as session:
        last = select(func.max(PredictionRow.id)).scalar_subquery()
        changed = update(PredictionRow).where(col(PredictionRow.id) == last)
        session.execute(changed.values(answer='{"bytes": "1 MiB"}'))
        session.commit()
    assert rows(client.get(TREE).text) == {}
    anew = rows(post(client, action="predict", answer__time=WRONG))
    assert anew["Your prediction"] == "140 ms ✗ wrong"


def test_of_predictions_sent_at_once_one_is_locked_in(site: Site, client: TestClient) -> None:
    learner = new_learner()
    cookie = f"{COOKIE}={sign(learner, site.secret)}"
    guesses = [f"{140 + n} ms" for n in range(8)]

    async def send() -> list[str]:
        forms = [urlencode({"action": "predict", "answer.time": guess}) for guess in guesses]
        calls = [Caller(client.app, TREE, form.encode(), cookie=cookie) for form in forms]
        pages = await asyncio.gather(*(call.answer() for call in calls))
        assert [call.status for call in calls] == [200] * len(calls)
        return [page.decode() for page in pages]

    assert client.portal
    pages = client.portal.call(send)
    shown = {rows(page)["Your prediction"] for page in pages}
    assert len(shown) == 1
    with open_session(site.engine) as session:
        found = select(PredictionRow).where(PredictionRow.learner == learner)
        (row,) = session.exec(found).all()
    assert json.loads(row.answer)["time"] in guesses
    assert shown.pop().startswith(json.loads(row.answer)["time"])


RACK = "/exercises/collectives/a-rack-adds"


def test_a_published_test_is_taken_as_the_measurement_and_said_to_be_of_others(client: TestClient) -> None:
    before = client.get(RACK).text
    assert "gb200-72-nvl72" not in before
    page = post(client, RACK, action="predict", answer__time="18.8 ms")
    assert "This server starts no runs" in words(page)
    assert "taken as your measurement" not in page
    assert any("published: github.com/coreweave/nccl-tests" in head for head in rows(page))
    assert 'value="gb200-72-nvl72"' in page
    assert 'value="h100-8-p5"' not in page  # on eight ranks, it is another measurement
    table = rows(post(client, RACK, action="take", taken="gb200-72-nvl72"))
    (taken,) = [row for name, row in table.items() if "CoreWeave GB200 NVL72" in name]
    assert taken.startswith("20.3 ms 1.080 × yours, 1.078 × the formula")
    (whose,) = [name for name in table if "published: github.com/coreweave/nccl-tests" in name]
    assert "taken as your measurement" in whose
    checked = post(client, RACK, action="check", taken="gb200-72-nvl72", answer__cause="factor")
    assert "From 8 to 72 GPUs the factor grows" in checked
    assert "taken as your measurement" in checked
    assert "taken as" not in post(client, RACK, action="take", taken="<b>nothing</b>")


def test_a_prediction_that_holds_for_any_ranks_may_take_a_test_on_any(client: TestClient) -> None:
    page = "/exercises/collectives/four-times-the-bytes"
    post(client, page, action="predict", answer__ratio="4")
    table = rows(post(client, page, action="take", taken="h100-16-p5"))
    (taken,) = [row for name, row in table.items() if "taken as your measurement" in name]
    # 64 MiB take 557.5 µs and 16 MiB take 305.5 µs in that file: far from four times as long.
    printed = published_tests()["h100-16-p5"].report
    assert isinstance(printed, CollectiveTest)
    times = {row.size: row.time for row in printed.rows}
    assert float(taken.split()[0]) == pytest.approx(times[64 << 20] / times[16 << 20], rel=1e-3)


def test_a_file_of_ones_own_is_taken_once_it_is_saved(client: TestClient) -> None:
    post(client, RACK, action="predict", answer__time="18.8 ms")
    mine = text_of("gb200-72-nvl72").replace("CoreWeave", "My")
    seal = re.search(r'name="seal" value="([^"]*)"', compared(client, mine))
    assert seal
    saved = client.post("/measured/save", data={"seal": seal[1], "title": "Our rack"})
    name = saved.headers["location"].rpartition("/")[2]
    table = rows(post(client, RACK, action="take", taken=name))
    (taken,) = [one for one in table if "Our rack" in one]
    assert "taken as your measurement; your own file" in taken
    other = TestClient(client.app)
    post(other, RACK, action="predict", answer__time="18.8 ms")
    assert "Our rack" not in post(other, RACK, action="take", taken=name)


def compared(client: TestClient, text: str) -> str:
    return str(client.post("/measured", data={"text": text}, files=[("file", ("", b""))]).text)

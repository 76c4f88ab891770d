"""Guess the step: nothing before the guess, everything after it, and nothing in what is shared."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from app.core.charts.paper import PAPERS
from app.core.charts.spread import PLACES, SIDE, guess_place
from app.course.content.daily import DailyQuestion, question_of
from app.main import create_app
from app.server.db.guesses import spread_of
from app.server.db.learner_cookie import new_learner, sign
from app.server.db.session import open_session
from app.server.db.tables import DailyGuess
from app.server.db.writer import store
from app.site import Site
from app.site.web.daily.strip import BANDS, band_of, strip
from app.site.web.daily.view import time_left
from app.site.web.frame.visitor import COOKIE
from tests.each import each

NOON = datetime(2027, 3, 3, 12, tzinfo=UTC)
HIDDEN = ("Text to share", "on this server", "The formula")


def words(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def strip_of(page: str) -> str:
    found = re.search(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)
    return unescape(found[1]) if found else ""


@dataclass
class Visit:
    """A browser, and the clock of the server that it visits."""

    site: Site
    moment: datetime = NOON
    learner: str = field(default_factory=new_learner)

    def __post_init__(self) -> None:
        site = replace(self.site, clock=lambda: self.moment)
        self.client = TestClient(create_app(site=site), follow_redirects=False)
        self.become(self.learner)

    def become(self, learner: str) -> None:
        self.learner = learner
        self.client.cookies.clear()
        self.client.cookies.set(COOKIE, sign(learner, self.site.secret))

    @property
    def question(self) -> DailyQuestion:
        return question_of(self.moment.date())

    def page(self, path: str = "/guess") -> str:
        return self.client.get(path).text

    def guess(self, text: str, day: date | None = None) -> Response:
        where = f"/guess/{day or self.moment.date()}"
        return self.client.post(where, data={"guess": text})

    def guessed(self, *days: date, late: bool = False, factor: float = 1.0) -> None:
        rows = [self.row(question_of(day), factor, late=late) for day in days]
        assert store(self.site.engine, rows) == [None] * len(rows)

    def row(self, question: DailyQuestion, factor: float, *, late: bool = False) -> DailyGuess:
        at = datetime(question.day.year, question.day.month, question.day.day, 23, 59, tzinfo=UTC)
        value = question.right * factor
        return DailyGuess(
            learner=self.learner,
            day=question.day,
            question=question.key,
            answer="mine",
            value=value,
            place=guess_place(value, question.right),
            at=at + timedelta(minutes=2 * late),
        )


Days = Iterator[datetime]


@pytest.fixture(scope="module")
def days() -> Days:
    """A day for each test: they share a database, and what was guessed stays."""
    return (NOON + timedelta(days=100 * n) for n in range(100))


@pytest.fixture
def visit(site: Site, days: Days) -> Visit:
    return Visit(site, moment=next(days))


def test_nothing_is_told_before_the_guess(visit: Visit) -> None:
    visit.guessed(visit.moment.date())
    right = visit.question.shown(visit.question.right)
    visit.become(new_learner())
    before = words(visit.page())
    assert visit.question.title in before
    assert right not in before
    assert not [text for text in HIDDEN if text in before]
    assert visit.guess(right).headers["location"] == f"/guess/{visit.moment.date()}"
    after = words(visit.page())
    assert f"The answer is {right} ." in after
    assert "There is 1 other guess, 0 of them farther off." in after
    assert not [text for text in HIDDEN if text not in after]


def test_a_new_visitor_becomes_a_learner_by_guessing(visit: Visit) -> None:
    visit.client.cookies.clear()
    assert "set-cookie" not in visit.client.get("/guess").headers
    assert COOKIE in visit.guess("1").headers["set-cookie"]
    assert "The formula" in visit.page()


def test_the_first_guess_stays(visit: Visit) -> None:
    unit = visit.question.asked.unit
    assert [visit.guess(f"{n} {unit}").status_code for n in (3, 5)] == [303, 303]
    page = words(visit.page())
    assert "You guessed 3 " in page or "You guessed $3" in page
    assert "Nobody else" in page


@pytest.mark.parametrize("text", ["", "about a minute", "-3", "<b>1</b> parsec", "9" * 300, "1e999"])
def test_what_cannot_be_read_is_neither_stored_nor_lost(visit: Visit, text: str) -> None:
    answer = visit.guess(text)
    assert answer.status_code == 422
    assert "Not stored" in answer.text
    assert "<b>1</b>" not in answer.text
    assert unescape(answer.text).count(f'value="{text[:200]}"') == 1
    assert "set-cookie" not in answer.headers
    assert "The formula" not in visit.page()


def test_arithmetic_and_units_are_read_as_in_exercises(visit: Visit) -> None:
    while visit.question.asked.unit != "ms":
        visit.moment += timedelta(days=1)
    visit.guess("2 * 3 GB / (50 GB/s)")
    assert "You guessed 120 ms (2 * 3 GB / (50 GB/s)):" in words(visit.page())


def test_an_absurd_guess_does_not_spoil_the_axis(visit: Visit) -> None:
    for factor in (1e-250, 1.0, 1e250):
        visit.become(new_learner())
        visit.guessed(visit.moment.date(), factor=factor)
    with open_session(visit.site.engine) as session:
        spread = spread_of(session, visit.moment.date(), visit.question.key, PLACES)
    assert spread == {-SIDE: 1, 0: 1, SIDE: 1}
    page = visit.page()
    assert "also hold everything beyond them" in page
    for paper in PAPERS.values():
        xs = [float(x) for x in re.findall(r' x="(-?[\d.]+)"', _svg(page, paper.name))]
        assert len(xs) > 8
        assert min(xs) >= 0
        assert max(xs) < paper.width
    assert "more than a factor of 10 away" in strip_of(page)


def _svg(page: str, name: str) -> str:
    found = re.search(rf'<svg class="figure drawing {name}".*?</svg>', page, re.DOTALL)
    assert found
    return found[0]


def test_a_guess_is_placed_by_its_ratio_to_the_answer() -> None:
    tenth, near = 10 ** (1 / 6), 10 ** (1 / 13)
    assert [guess_place(7 * f, 7) for f in (1, near, 1 / near, tenth, 100, 1e4)] == [0, 0, 0, 1, 12, 12]
    assert guess_place(5e-324, 1e300) == -SIDE


def test_the_strip_gives_nothing_away() -> None:
    seen = set()
    for n in range(400):
        question = question_of(NOON.date() + timedelta(n))
        band = band_of(question.right * 10 ** ((n % 41 - 20) / 15), question.right)
        text = strip(question, band, n % 5, "https://example.org")
        first, second, *rest = text.splitlines()
        assert first == f"Guess the step {question.number}, {question.day:%-d %b %Y}"
        assert second in {f"{one.squares} {one.says}" for one in BANDS}
        assert rest[-1] == f"https://example.org/guess/{question.day}"
        assert rest[:-1] in ([], [f"{n % 5} days in a row"])
        seen.add(second)
    assert len(seen) == len(BANDS)


@each(
    ("value", "squares"),
    [(100, 5), (110, 5), (91, 5), (90, 4), (150, 4), (299, 3), (10, 2), (1000, 2), (9, 1), (1e300, 1)],
)
def test_a_band_is_the_same_on_both_sides(value: float, squares: int) -> None:
    assert band_of(value, 100).filled == squares
    assert band_of(value, 100).spoken.startswith(f"{squares} of 5: ")


def test_a_streak_forgives_a_missed_day_and_counts_no_late_guess(visit: Visit) -> None:
    today = visit.moment.date()
    visit.guessed(*(today - timedelta(n) for n in (1, 2, 4, 5)))
    assert "4 days in a row" in words(visit.page())
    visit.guess("1")
    assert "5 days in a row" in strip_of(visit.page())
    visit.guess("1", today - timedelta(3))
    page = visit.page()
    assert "5 days in a row. You can miss one day in seven and keep your streak." in words(page)
    assert "days in a row" not in strip_of(visit.page(f"/guess/{today - timedelta(3)}"))
    visit.moment += timedelta(days=3)
    assert "in a row" not in visit.page()


def test_a_day_begins_at_midnight_utc(visit: Visit) -> None:
    visit.moment = visit.moment.replace(hour=23, minute=59, second=59)
    before = visit.question
    assert "A new question comes at 00:00 UTC, in 1 min." in words(visit.page())
    assert visit.guess("1").status_code == 303
    visit.moment += timedelta(seconds=1)
    page = words(visit.page())
    assert visit.question.title in page
    assert "A new question comes at 00:00 UTC, in 24 h." in page
    assert f"The answer is {before.shown(before.right)} ; you guessed" in page  # yesterday's
    assert time_left(visit.moment.replace(hour=18, minute=48)) == "5 h 12 min"


def test_the_archive_is_short_and_open(visit: Visit) -> None:
    today = visit.moment.date()
    page = visit.page()
    linked = re.findall(r'href="/guess/([\d-]+)" rel="nofollow"', page)
    assert set(linked) == {str(today - timedelta(n)) for n in range(1, 31)}
    assert page.count('href="/guess/') == len(linked) == 31  # yesterday's twice
    oldest, older = (today - timedelta(n) for n in (30, 31))
    assert visit.client.get(f"/guess/{oldest}").status_code == 200
    assert visit.client.get(f"/guess/{older}").headers["location"] == "/guess"
    assert visit.guess("1", oldest).status_code == 303
    assert visit.guess("1", older).status_code == 404
    for text in (str(today + timedelta(1)), "today", "20270303", "2027-02-30", "0000-00-00"):
        assert visit.client.get(f"/guess/{text}").status_code == 404
        assert visit.client.post(f"/guess/{text}", data={"guess": "1"}).status_code == 404


def test_a_form_from_another_site_is_refused(visit: Visit) -> None:
    where = f"/guess/{visit.moment.date()}"
    answer = visit.client.post(where, data={"guess": "1"}, headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403
    assert "The formula" not in visit.page()


def test_a_question_that_an_update_has_replaced_is_said_so(visit: Visit) -> None:
    row = visit.row(visit.question, 1.0)
    store(visit.site.engine, [row.model_copy(update={"question": "of another version"})])
    page = words(visit.page())
    assert "The course was updated" in page
    assert "within" not in page
    assert not strip_of(page)


def exported(visit: Visit) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(visit.page("/progress/export"))
    return found


def take(visit: Visit, file: object) -> Response:
    files = {"file": ("wallclock.json", json.dumps(file).encode(), "application/json")}
    return visit.client.post("/progress/import", files=files)


def test_guesses_travel_and_are_counted_once(visit: Visit) -> None:
    visit.moment = datetime.now(UTC)  # a file tells nothing of the future
    today = visit.moment.date()
    visit.guessed(*(today - timedelta(n) for n in range(4)))
    file = exported(visit)
    assert "Export as JSON" in visit.page("/progress")
    visit.become(new_learner())
    assert "added=4&known=0" in take(visit, file).headers["location"]
    assert "added=0&known=4" in take(visit, file).headers["location"]
    page = visit.page()
    assert "You guessed" in page
    assert "4 days in a row" in strip_of(page)
    with open_session(visit.site.engine) as session:
        assert spread_of(session, today, visit.question.key, PLACES) == {0: 1}
    assert "There is 1 other guess" in page  # that of the other learner
    visit.client.post("/progress/delete", data={"sure": "yes"})
    visit.become(visit.learner)
    assert exported(visit)["guesses"] == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"day": "2027-13-01"}, 'guesses[0].day is "2027-13-01": a day such as 2026-03-01'),
        ({"day": 5}, "guesses[0].day is 5"),
        ({"day": "9999-01-01"}, "guesses[0].day"),
        ({"value": -1.0}, "guesses[0].value must be more than 0, not -1"),
        ({"value": "1"}, "guesses[0].value"),
        ({"answer": "\0"}, "guesses[0].answer"),
        ({"more": 1}, "guesses[0].more"),
    ],
)
def test_a_guess_that_was_made_by_hand_is_refused(visit: Visit, change: dict[str, object], says: str) -> None:
    row = {
        "day": "2026-03-01",
        "question": "q",
        "answer": "1",
        "value": 1.0,
        "at": "2026-03-01T12:00:00Z",
        "place": 99999,
    }
    answer = take(visit, {"guesses": [{**row, **change}]})
    assert answer.status_code == 422
    assert says.lower() in words(answer.text).lower()
    assert "added=1&known=0" in take(visit, {"guesses": [row]}).headers["location"]

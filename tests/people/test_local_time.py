"""Dates as people type and read them, also where clocks are changed."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.classes.people.assignment_copies import (
    dates_in_words,
    field_text,
    how_far,
    in_words,
    on_the_calendar,
    read_moment,
)
from app.classes.people.policy import Policy
from app.core.errors import InputError
from tests.each import each

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 9, 26, 9, 0, tzinfo=UTC)


def test_a_time_that_clocks_skip_is_moved_and_said() -> None:
    moment = read_moment("2026-03-29T02:30", BERLIN, ends=True)
    assert moment.at == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)  # 03:30 in summer time
    assert moment.note == ("clocks in Europe/Berlin skip 02:30 on Sunday, Mar 29, 2026: 03:30 is used")


def test_of_a_time_that_comes_twice_an_end_takes_the_second_and_a_beginning_the_first() -> None:
    last = read_moment("2026-10-25T02:30", BERLIN, ends=True)
    first = read_moment("2026-10-25T02:30", BERLIN, ends=False)
    assert last.at == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    assert first.at == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert "twice" in last.note
    assert "the second is used, which is 01:30 UTC" in last.note
    assert "the first is used, which is 00:30 UTC" in first.note


def test_of_the_dates_of_an_assignment_a_close_is_said_where_it_is_not_the_due_date() -> None:
    due = datetime(2026, 10, 2, 21, 59, tzinfo=UTC)
    ends = "due Friday, Oct 2, 23:59, in 6 days"
    assert dates_in_words(Policy(), NOW) == ()
    assert dates_in_words(Policy(zone=BERLIN, due=due, closes=due), NOW) == (ends,)
    late = Policy(zone=BERLIN, opens=NOW, due=due, closes=due + timedelta(days=1))
    assert dates_in_words(late, NOW) == (
        "opens Saturday, Sep 26, 11:00, now",
        ends,
        "closes Saturday, Oct 3, 23:59, in 7 days",
    )


@given(st.datetimes(datetime(2000, 1, 2), datetime(2199, 12, 30)), st.sampled_from(sorted(available_timezones())))
def test_what_a_field_shows_is_read_back_as_the_same_minute_unless_it_comes_twice(at: datetime, name: str) -> None:
    zone, at = ZoneInfo(name), at.replace(second=0, microsecond=0, tzinfo=UTC)
    text = field_text(at, zone)
    both = {read_moment(text, zone, ends=ends).at for ends in (True, False)}
    # Zones of old had offsets with seconds, which a field does not show.
    assert min(abs(at - found) for found in both) < timedelta(minutes=1)


@each(
    "text",
    [
        "",
        "2026-10-02",
        "2026-10-02 23:59",
        "2026-02-30T12:00",
        "2026-10-02T24:00",
        "x" * 99,
        "1999-12-31T23:59",
        "2200-01-01T00:00",
        "٢٠٢٦-10-02T23:59",
        "2026-10-02T23:59Z",
    ],
)
def test_what_is_no_date_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(InputError, match="2026-10-02T23:59|the year must be from 2000 to 2199"):
        read_moment(text, BERLIN, ends=True)


def test_the_first_and_the_last_minute_that_can_be_typed_are_read() -> None:
    utc = ZoneInfo("UTC")
    for text in ("2000-01-01T00:00", "2199-12-31T23:59", "2199-12-31T23:59:59"):
        moment = read_moment(text, utc, ends=True)
        assert (moment.at.isoformat()[: len(text)], moment.note) == (text, "")


def test_a_year_is_said_where_it_is_another_in_the_zone_of_the_class() -> None:
    eve = datetime(2026, 12, 31, 23, 30, tzinfo=UTC)  # half past midnight in Berlin
    assert on_the_calendar(eve, BERLIN, NOW) == "Friday, Jan 1, 2027, 00:30"
    assert on_the_calendar(eve, BERLIN, eve) == "Friday, Jan 1, 00:30"
    assert on_the_calendar(eve, ZoneInfo("UTC"), NOW) == "Thursday, Dec 31, 23:30"
    assert (field_text(None, BERLIN), field_text(eve, BERLIN)) == ("", "2027-01-01T00:30")


def test_a_date_is_said_with_its_day_and_how_far_it_is() -> None:
    due = datetime(2026, 10, 2, 21, 59, tzinfo=UTC)
    assert in_words(due, BERLIN, NOW) == "Friday, Oct 2, 23:59, in 6 days"
    next_year = datetime(2027, 1, 8, 11, 0, tzinfo=UTC)
    assert in_words(next_year, BERLIN, NOW) == "Friday, Jan 8, 2027, 12:00, in 104 days"


@each(
    ("after", "says"),
    [
        (timedelta(seconds=20), "now"),
        (timedelta(seconds=59), "now"),
        (-timedelta(seconds=59), "now"),
        (-timedelta(minutes=1), "1 minute ago"),
        (timedelta(seconds=3_599), "in 59 minutes"),
        (timedelta(hours=1), "in 1 hour"),
        (-timedelta(hours=1), "1 hour ago"),
        (-timedelta(minutes=119), "1 hour ago"),
        (timedelta(hours=12, minutes=59), "in 12 hours"),  # 23:59 of the same day
        (-timedelta(hours=11, minutes=59), "11 hours ago"),
        (timedelta(hours=36, minutes=59), "tomorrow"),
        (timedelta(hours=37), "in 2 days"),
        (-timedelta(hours=36), "2 days ago"),
        (timedelta(minutes=1), "in 1 minute"),
        (-timedelta(minutes=59), "59 minutes ago"),
        (timedelta(hours=11), "in 11 hours"),
        (timedelta(hours=13), "tomorrow"),  # 11:00 in Berlin, and then 00:00 of the next day
        (timedelta(hours=47), "in 2 days"),
        (-timedelta(hours=12), "yesterday"),
        (-timedelta(days=3), "3 days ago"),
    ],
)
def test_near_dates_are_counted_by_the_clock_and_others_by_the_calendar(after: timedelta, says: str) -> None:
    assert how_far(NOW + after, BERLIN, NOW) == says

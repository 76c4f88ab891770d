"""Trace files as they come: packed, cut off, damaged, hostile."""

import gzip
import io
import json
import random
import tracemalloc
from dataclasses import replace

import pytest

from app.core.errors import InputError
from app.core.measurements.packed_files import blocks
from app.core.measurements.published import SAMPLES
from app.core.measurements.trace.events import EventFile
from app.core.measurements.trace.reader import read_rank, reports
from tests.each import each
from tests.measurements.trace.made import collective, flat, rank_of, report_of, step, trace, work

SMALLEST = min(SAMPLES, key=lambda sample: sample.path.stat().st_size)
EVENTS = flat(
    [step(n, 100 * n, 100 * n + 90) for n in range(3)]
    + [work(10 * n, 10 * n + 7, f"kernel {n % 3}", launched=10 * n - 2) for n in range(1, 30)]
    + [collective(30, 45), collective(130, 145)]
)
PLAIN = trace(EVENTS, rank=0, world_size=4)


@each(
    "file",
    [
        gzip.compress(PLAIN),
        gzip.compress(PLAIN[:700]) + gzip.compress(PLAIN[700:]),  # of two members
        b"\xef\xbb\xbf" + PLAIN,
        json.dumps(json.loads(PLAIN), indent=2).encode(),
        json.dumps(json.loads(PLAIN, parse_float=str, parse_int=str)).encode(),  # numbers as texts
        json.dumps({"traceEvents": EVENTS, "distributedInfo": {"rank": 0, "world_size": 4}}).encode(),
    ],
    ids=["gzip", "two members", "BOM", "indented", "texts", "record at the end"],
)
def test_the_same_trace_in_other_clothes_reads_the_same(file: bytes) -> None:
    assert report_of(file) == report_of(PLAIN)


def test_a_bare_list_of_events_is_a_trace() -> None:
    found = report_of(json.dumps(EVENTS).encode())
    expected = report_of(PLAIN)
    assert (found.tolls, found.rank) == (expected.tolls, None)


def test_names_that_hold_json_do_not_cut_an_event() -> None:
    name = '}, {"ph": "X"}], "traceEvents": [{"name": "'
    events = flat([work(10 * n, 10 * n + 7, name, launched=10 * n - 2) for n in range(1, 30)])
    rank = rank_of(trace(events, rank=1))
    assert rank.kernels[0].name == name
    assert rank.kernels[0].count == 29
    assert rank.number == 1
    assert not any("left out" in doubt for doubt in rank.doubts)


def test_a_large_file_is_read_in_pieces_like_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = report_of(PLAIN)
    monkeypatch.setattr("app.core.measurements.packed_files.BLOCK", 512)
    monkeypatch.setattr("app.core.measurements.packed_files._PACKED", 100)
    assert report_of(gzip.compress(PLAIN)) == whole
    assert report_of(PLAIN) == whole


def test_what_was_cut_off_is_said_and_the_rest_is_read() -> None:
    for cut in (gzip.compress(PLAIN)[:-300], PLAIN[: len(PLAIN) // 2]):
        found = report_of(cut)
        assert found.tolls.compute > 0
        assert "the file is cut off or damaged: the events after that are missing" in found.doubts


def test_damaged_events_are_counted_and_left_out() -> None:
    damaged = PLAIN.replace(b'"kernel 1"', b'"kernel "1""', 2)
    found = report_of(damaged)
    assert "events that are not valid JSON were left out: 2" in found.doubts
    assert sum(one.count for one in found.kernels if one.name == "kernel 2") == 7


@each(("key", "value"), [("dur", -5), ("ts", "NaN"), ("dur", "Infinity"), ("ts", 1e300)])
def test_times_that_cannot_be_are_left_out(key: str, value: object) -> None:
    broken = [{**EVENTS[5], key: value}, *EVENTS]
    found = report_of(trace(broken, rank=0, world_size=4))
    assert found.tolls == report_of(PLAIN).tolls
    assert any("negative duration" in doubt for doubt in found.doubts)


@each(
    ("file", "says"),
    [
        (b"", "no list of traceEvents"),
        (b"hello", "no list of traceEvents"),
        (b"\x80\x04\x95", "no list of traceEvents"),
        (b'{"results": []}', "no list of traceEvents"),
        (b'{"traceEvents": []}', "no GPU activity"),
        (b'{"traceEvents": [' + b"[" * 100_000, "cut off or damaged"),
        (
            b'{"traceEvents": [{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]}",
            "cut off or damaged|no GPU activity",  # some versions of Python can read it
        ),
        (b'{"traceEvents": [{"a": "' + b"x" * (17 << 20), "longer than 16 MiB"),
    ],
    ids=map(str, range(8)),
)
def test_what_is_not_a_trace_gets_one_sentence(file: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        report_of(file)


def test_a_bomb_is_refused_in_constant_memory() -> None:
    bomb = gzip.compress(b'{"traceEvents": [' + b" " * (64 << 20), 1)
    tracemalloc.start()
    with pytest.raises(InputError, match="larger than 0.03125 GiB unpacked"):
        for _ in blocks(io.BytesIO(bomb), 32 << 20):
            pass
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


def damaged(text: bytes, source: random.Random) -> bytes:
    at = source.randrange(len(text))
    match source.randrange(5):
        case 0:
            return text[:at]
        case 1:
            return text[:at] + text[at + source.randrange(40) :]
        case 2:
            return text[:at] + source.randbytes(20) + text[at:]
        case 3:
            return text.replace(source.choice(b'{}[]",:0123456789').to_bytes(), b"", at % 50)
        case _:
            return text.replace(b'"dur":', source.choice([b'"dur":-', b'"dur":"', b'"x":']), at % 9)


def test_no_damage_raises_anything_but_a_sentence() -> None:
    source = random.Random(19)
    text = gzip.decompress(SMALLEST.path.read_bytes())[:20_000]
    for _ in range(80):
        file = damaged(text, source)
        try:
            rank = read_rank(io.BytesIO(file), "damaged")
        except InputError:
            continue
        assert reports([rank])[0].record()["wall"] == rank.tolls.wall >= 0


def test_events_beyond_the_limit_are_counted_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.core.measurements.trace.activity.MOST", 20)
    found = report_of(PLAIN)
    assert sum(one.count for one in found.kernels) <= 20
    assert any("more were left out" in doubt for doubt in found.doubts)


def test_kernels_without_end_of_names_are_told_apart_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.core.measurements.trace.activity._DISTINCT", 5)
    events = flat([work(10 * n, 10 * n + 7, f"name {n}", launched=10 * n) for n in range(20)])
    kernels = rank_of(trace(events)).kernels
    assert {one.name: one.count for one in kernels}["other kernels"] == 15


def test_an_event_file_reads_the_record_of_the_job_before_and_after_the_events() -> None:
    for text in (
        b'{"distributedInfo": {"rank": 3}, "traceEvents": []}',
        b'{"traceEvents": [], "distributedInfo": {"rank": 3}}',
        b'{"traceEvents": [{"ph": "X"}], "distributedInfo": {"rank": 3}, "traceName": "x"}',
    ):
        source = EventFile(io.BytesIO(text))
        assert len(list(source.events())) <= 1
        assert source.job.distributed == {"rank": 3}
        assert not source.cut_off


def test_reports_keep_the_order_of_the_files() -> None:
    ranks = [replace(rank_of(PLAIN), name=name, number=n % 2) for n, name in enumerate("abc")]
    assert [(one.name, one.ranks) for one in reports(ranks)] == [("a", 2), ("b", 2), ("c", 1)]

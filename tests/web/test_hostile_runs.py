"""Runs that are sent in to do harm: what is kept is little, and what it costs others is bounded.

The documents are those with which the pages of labs were attacked: long lists, formulas in places, NUL,
markup, numbers at the edge, floods.
"""

import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select
from sqlmodel import col

from app.core.errors import InputError
from app.labs.results.analysis import shipped_runs
from app.main import create_app
from app.server.config import Settings
from app.server.db import lab_runs
from app.server.db.lab_runs import SENT
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import LabRunRow
from app.site import Site
from app.site.labs.upload import FILE_LIMIT, MOST_RUNS, read_sent, read_sent_file
from tests.db.queue import run as queued
from tests.each import each
from tests.labs.quiet_runs import quiet_run

LAB = "all-reduce"
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'`{{7*7}}"
PAGE_LIMIT = 400_000  # characters of any page that shows runs of others
Run = dict[str, Any]


@cache
def _recorded() -> str:
    return quiet_run(LAB, "=all_reduce").as_json()


def good() -> Run:
    plain: Run = json.loads(_recorded())
    return plain


def changed(**values: Any) -> Run:
    return {**good(), **values}


def measure(**values: Any) -> Run:
    """A run of which the first measure is another."""
    run = good()
    run["measures"][0].update(values)
    return run


def machine(**values: Any) -> Run:
    run = good()
    run["machine"].update(values)
    return run


def many(count: int, salt: int = 0) -> Run:
    one = {**good()["measures"][0], "samples": [1.0]}
    measures = [{**one, "where": {"size": 64 + n}} for n in range(count)]
    return {**machine(processor=f"cpu {salt}", cores=salt), "measures": measures}


def formula(text: str) -> Run:
    """A run whose measures have *text* where a lab's formula names its algorithm."""
    report = next(one for one in shipped_runs() if one.lab == "algorithms" and "=ring" in one.command)
    run: Run = json.loads(report.as_json())
    for one in run["measures"]:
        one["where"]["algorithm"] = text
    return run


def send(client: TestClient, run: Run | bytes, lab: str = LAB) -> Any:
    raw = run if isinstance(run, bytes) else json.dumps(run).encode()
    return client.post(f"/labs/{lab}/board", files={"run": ("run.json", raw, "application/json")})


def sizes(count: int) -> Run:
    """A run that was asked for with so many sizes."""
    run, text = good(), ",".join(["64B"] * count)
    run["given"]["sizes"] = text
    words = [word for word in run["command"].split() if not word.startswith("sizes=")]
    return {**run, "command": " ".join([*words, f"sizes={text}"])}


def old(run: Run) -> Run:
    run.pop("given")
    return run


BOMB = "throughput.utilization_comb(9007199254740992 s, 1000000000000 s, 1000000).first * 0 s"
REFUSED: list[Run | bytes] = [
    sizes(25),
    sizes(200_000),
    old(sizes(200_000)),
    old(sizes(25)),
    many(201),
    many(5000),
    measure(samples=[1.0] * 2001),
    formula("ring_all_reduce_time(size, ranks, bandwidth, latency) * 0 + 0.777 s + 0 * ring"),
    formula(f"ring_all_reduce_time(size, ranks, bandwidth, latency) + {BOMB} + collectives.ring"),
    changed(backend="b" * 900_000),
    changed(backend="b" * 21),
    changed(versions={str(n): "x" * 100 for n in range(21)}),
    changed(versions={"torch": "x" * 201}),
    changed(checks={str(n): True for n in range(51)}),
    changed(id="x" * 201),
    changed(at="\u202e" * 30),
    changed(at="2026\0"),
    changed(backend="gloo\0"),
    changed(versions={"torch\0": "2"}),
    changed(world=10**400),
    changed(seconds=-1),
    changed(seconds=math.inf),
    machine(processor="a\0b"),
    machine(gpus=["a\0b"]),
    machine(gpus=["x"] * 1025),
    measure(where={"size": 64, "a\0": 1}),
    measure(where={"size": math.nan}),
    measure(where={"size": 1e308}),
    measure(where={"size": "abc"}),
    measure(where={MARKUP: 1, "size": 64}),
    measure(where={"{0.__class__}": 1}),
    measure(where={}),
    measure(name="{0.__class__}"),
    measure(samples=[1.7e308]),
    measure(samples=[5e-324]),
    measure(samples=[math.nan]),
    measure(samples=[]),
    b"[" * 250_000,
    b"\xff\xfe" * 100,
    json.dumps(good()).encode("utf-16"),
    json.dumps(machine(processor="\ud800")).encode(),
    b"\x1f\x8b" + b"0" * 1000,
    b" " * (FILE_LIMIT + 1),
    b"",
]
TAKEN: list[Run] = [
    good(),
    many(200),
    sizes(24),
    measure(samples=[1e-5] * 2000),
    machine(processor=MARKUP, cores=MARKUP, system=MARKUP, python=MARKUP, driver=MARKUP),
    machine(gpus=[[[[1]]]] * 500, processor={"a": [1]}),
    machine(processor="=cmd|' /C calc'!A0", cores="@SUM(1)"),
    machine(cores=10**400),
    changed(id="../../../../etc/passwd", cause=MARKUP, notes=[MARKUP] * 500, links=MARKUP),
    changed(versions={MARKUP[:60]: MARKUP}),
    measure(where={"size": 64, "late": -1}),
    {**good(), "measures": [{**good()["measures"][0], "samples": [1.0]}] * 200},
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_beyond_the_limits_is_refused_in_a_short_sentence(client: TestClient, number: int) -> None:
    run = REFUSED[number]
    answer = send(client, run, run["lab"] if isinstance(run, dict) else LAB)
    assert answer.status_code in (413, 422)
    assert len(answer.text) < PAGE_LIMIT
    if answer.status_code == 422:
        says = answer.text.partition('role="alert">')[2].partition("</p>")[0]
        assert 10 < len(says) < 700 or "contains the character NUL" in answer.text


@pytest.mark.parametrize("number", range(len(TAKEN)))
def test_what_is_taken_hurts_no_page_that_shows_it(client: TestClient, number: int) -> None:
    answer = send(client, TAKEN[number])
    assert answer.status_code == 303, answer.text
    page = answer.headers["location"]
    for address in (page, f"/labs/{LAB}", "/labs"):
        shown = client.get(address)
        assert shown.status_code == 200
        assert len(shown.text) < PAGE_LIMIT
        assert "<script>alert" not in shown.text
        assert "<img src=x" not in shown.text
    for form in ("samples.json", "0.svg", "0.csv"):
        file = client.get(f"{page}/{form}")
        assert file.status_code in (200, 404)
        if form.endswith("csv"):
            cells = (cell for line in file.text.splitlines() for cell in line.split(","))
            assert not [cell for cell in cells if cell.strip('"')[:1] in ("=", "+", "@")]


def test_a_place_never_becomes_part_of_a_formula() -> None:
    """Even where it passes as a text: a report of a run of our own, with the same places."""
    from app.labs.results.analysis import analyze_report
    from app.labs.spec import lab_called, read_job

    report = next(one for one in shipped_runs() if one.lab == "algorithms" and "=ring" in one.command)
    hostile = {"algorithm": "ring_all_reduce_time(1 B, 2, 1 B/s, 0.777 s) + 0 * collectives.ring"}
    measures = tuple(replace(one, where={**one.where, **hostile, "bandwidth": 1.0}) for one in report.measures)
    job = read_job(lab_called("algorithms"), report.given)
    judged = analyze_report(replace(report, measures=measures), job.ranks, job.values)
    assert [one.predicted for one in judged.measures] == [one.predicted for one in report.measures]


def test_only_choices_that_a_lab_lists_become_part_of_its_formulas() -> None:
    from app.labs.spec import known_labs, read_job

    for lab in known_labs().values():
        values = dict(read_job(lab, {}).values)
        for name, parameter in lab.parameters.items():
            if parameter.one_of:
                with pytest.raises(ValueError, match="cannot be"):
                    lab.words({**values, name: "ring + 1"})
            else:
                assert name not in lab.words(values)


@pytest.mark.slow(10)
def test_a_flood_changes_the_page_little_and_hides_nothing_from_here(tmp_path: Any) -> None:
    settings = Settings(database=f"sqlite:///{tmp_path}/w.db", sandbox_workers=1, runs=tmp_path, sent_runs_allowed=0)
    with TestClient(create_app(settings), follow_redirects=False) as client:
        address = f"/labs/{LAB}"
        before = client.get(address).text
        for n in range(42):
            if n % 40 == 0:
                client.cookies.clear()
            run = many(200, n)
            if n % 3 == 0:  # other parameters, and so a group of its own
                run["given"]["sizes"] = f"{64 + n}B"
                run["given"]["operation"] = "all_gather"
                run["given"]["ranks"] = run["ranks"] = 2 + n % 7
                given = " ".join(f"{k}={v}" for k, v in run["given"].items())
                run["given"] = {key: str(value) for key, value in run["given"].items()}
                run["command"] = f"wallclock lab run {LAB} {given}"
            assert send(client, run).status_code == 303
        after = client.get(address).text
        assert len(after) < PAGE_LIMIT
        for report in shipped_runs():
            if report.lab == LAB:
                assert (report.id in after) == (report.id in before)


@pytest.fixture
def planted(site: Site) -> Iterator[Callable[[Run], str]]:
    """Puts a run into the database as an earlier version took it."""
    names: list[str] = []

    def plant(run: Run) -> str:
        row = queued(
            name=f"20260101-000000-{LAB}-{len(names):06x}",
            lab=LAB,
            host=SENT,
            state="done",
            given=json.dumps({}),
            pool=f"planted-{len(names)}",
            report=json.dumps(run),
        )
        names.append(row.name)
        with open_writing_session(site.engine) as session:
            session.add(row)
            session.commit()
        return names[-1]

    yield plant
    with open_writing_session(site.engine) as session:
        for row in session.scalars(select(LabRunRow).where(col(LabRunRow.name).in_(names))):
            session.delete(row)
        session.commit()


@pytest.mark.parametrize(
    "run",
    [many(5000), sizes(100_000), changed(backend="b" * 900_000), measure(samples=[1.0] * 3000)],
    ids=["measures", "sizes", "backend", "samples"],
)
def test_what_is_in_the_database_already_is_held_to_the_same_limits(
    client: TestClient, planted: Callable[[Run], str], run: Run
) -> None:
    name = planted({**run, "machine": {"processor": "Planted", "cores": 1}})
    for address in (f"/labs/{LAB}", "/exercises/collectives/time-the-tree"):
        page = client.get(address)
        assert page.status_code == 200
        assert "Planted" not in page.text
        assert len(page.text) < PAGE_LIMIT
    assert client.get(f"/labs/{LAB}/{name}").status_code == 404


def test_what_is_worked_out_is_worked_out_once(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A view of a lab reads no report that it has read before."""
    from app.site.web.labs import results

    counted = []

    def counting(text: str) -> object:
        counted.append(len(text))
        return read_sent(text)

    assert send(client, many(200, 77)).status_code == 303
    monkeypatch.setattr(results, "read_sent", counting)
    for _ in range(5):
        assert "cpu 77, 77 cores" in client.get(f"/labs/{LAB}").text
    assert len(counted) <= 50
    first = len(counted)
    client.get(f"/labs/{LAB}")
    assert len(counted) == first


def lines(*runs: Run | str) -> bytes:
    """A file with a run on each line, as `wallclock lab check --record` writes it."""
    return "".join(f"{json.dumps(run)}\n" for run in runs).encode()


def test_the_runs_of_a_file_go_to_the_pages_of_their_labs(client: TestClient) -> None:
    other: Run = json.loads(next(one for one in shipped_runs() if one.lab == "memory-copy").as_json())
    other["machine"]["processor"] = run_of_ours = "AMD EPYC 9654, 2P"
    sent = lines(other, machine(processor=run_of_ours))
    assert send(client, sent, "ring-bytes").status_code == 422
    answer = send(client, sent)
    assert answer.headers["location"].startswith(f"/labs/{LAB}/")
    for lab in (LAB, "memory-copy"):
        assert run_of_ours in client.get(f"/labs/{lab}").text


@each(
    ("sent", "says"),
    [
        (lines(good(), changed(ranks="many")), "run 2 of 2: "),
        (lines(*[good()] * (MOST_RUNS + 1)), f"this file has {MOST_RUNS + 1} runs"),
        (lines(good(), changed(cause="x" * FILE_LIMIT)), "run 2 of 2: .*larger than 256 KiB"),
    ],
    ids=["unreadable", "too many", "too large"],
)
def test_a_file_is_taken_as_a_whole_or_not_at_all(sent: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_sent_file(sent.decode())


def test_a_run_may_be_written_over_several_lines() -> None:
    (report,) = read_sent_file(json.dumps(good(), indent=1))
    assert report == read_sent(json.dumps(good()))


def test_runs_of_others_are_read_beside_the_event_loop(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def noted(work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            threads.append(threading.current_thread().name)
            return work(*arguments)

        return call

    monkeypatch.setattr("app.site.web.labs.index.read_sent_file", noted(read_sent_file))
    monkeypatch.setattr("app.site.web.labs.results.finished_runs", noted(lab_runs.finished_runs))
    monkeypatch.setattr("app.site.web.labs.results.lab_run", noted(lab_runs.lab_run))
    assert send(client, good()).status_code == 303
    ring = "/exercises/collectives/time-the-tree"
    client.post(ring, data={"action": "predict", "answer.time": "1 s"})
    before = len(threads)
    addresses = [
        f"/labs/{LAB}",
        ring,
        f"/labs/{LAB}/nothing",
        f"/labs/{LAB}/nothing/samples.json",
        f"/labs/{LAB}/nothing/0.svg",
    ]
    for address in addresses:
        client.get(address)
    assert before >= 2
    assert len(threads) == before + len(addresses)
    assert {name.partition("_")[0] for name in threads} == {"aside"}


def test_a_run_costs_a_bounded_multiple_of_the_smallest() -> None:
    """The dearest file that is taken, against one of ours: both worked out in this process."""

    def cost(run: Run) -> float:
        text = json.dumps(run)
        times = []
        for _ in range(5):
            begun = time.process_time()
            read_sent(text)
            times.append(time.process_time() - begun)
        return min(times)

    assert cost(many(200)) < 100 * cost(good())


@pytest.mark.slow(10)
def test_runs_of_one_address_are_limited_whatever_its_cookies(tmp_path: Any) -> None:
    settings = Settings(database=f"sqlite:///{tmp_path}/w.db", sandbox_workers=1, runs=tmp_path, sent_runs_allowed=3)
    with TestClient(create_app(settings), follow_redirects=False) as client:
        answers = []
        for _ in range(5):
            client.cookies.clear()
            answers.append(send(client, good()))
        assert [one.status_code for one in answers] == [303, 303, 303, 429, 429]
        assert "retry-after" in answers[-1].headers
        site: Site = client.app.state.site  # type: ignore[attr-defined]
        with open_session(site.engine) as session:
            assert session.scalar(select(func.count()).select_from(LabRunRow)) == 3

import html
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.commands import lab_launch as lab_command
from app.labs.results.analysis import RECORDED, shipped_runs
from app.labs.spec import Lab, known_labs, lab_called
from app.main import create_app
from app.server.config import Settings
from app.site.labs.match import own_runs
from app.site.web.labs.predictions import guess_beside_run, machine_of, recorded_run
from app.site.web.labs.results import RunResult
from tests.db.queue import run as queued
from tests.each import each


def test_every_recorded_run_says_where_it_ran_and_has_its_samples() -> None:
    assert shipped_runs()
    for report in shipped_runs():
        assert report.state == "done"
        assert report.lab in known_labs()
        assert report.checks
        assert all(report.checks.values())
        assert report.machine.processor
        assert report.machine.cores
        assert report.versions["torch"]
        assert report.command.startswith(f"wallclock lab run {report.lab} ")
        for one in report.measures:
            assert one.count == len(one.samples)
            assert list(one.samples) == sorted(one.samples)
            if lab_called(report.lab).measures[one.name].exact:
                assert one.right is True


def test_every_lab_and_every_run_has_a_page(client: TestClient) -> None:
    shown = client.get("/labs").text
    for lab in known_labs().values():
        assert f'href="/labs/{lab.name}"' in shown
        page = client.get(f"/labs/{lab.name}")
        assert page.status_code == 200
        assert f"wallclock lab run {lab.name}" in page.text
    for report in shipped_runs():
        page = client.get(f"/labs/{report.lab}/{report.id}")
        assert page.status_code == 200
        assert "Where it ran" in page.text
        assert f'href="/labs/{report.lab}/{report.id}"' in client.get(f"/labs/{report.lab}").text


def test_a_figure_of_a_run_is_a_file_too(client: TestClient) -> None:
    report = next(one for one in shipped_runs() if one.lab == "algorithms")
    base = f"/labs/{report.lab}/{report.id}"
    assert client.get(f"{base}/samples.json").json()["id"] == report.id
    assert client.get(f"{base}/0.svg").text.startswith("<svg")
    assert len(client.get(f"{base}/0.csv").text.splitlines()) > 2
    for wrong in (f"{base}/9.svg", f"{base}/0.png", "/labs/algorithms/nothing", "/labs/algoritms"):
        assert client.get(wrong).status_code == 404
    assert "did you mean" in client.get("/labs/algoritms").text


def test_runs_of_this_machine_are_listed_beside_the_recorded_ones(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    runs = tmp_path / "runs"
    run = runs / "20260301-120000-ring-bytes-abcdef"
    run.mkdir(parents=True)
    job = {
        "lab": "ring-bytes",
        "ranks": 4,
        "values": {"size": 1048576},
        "backend": "gloo",
        "at": "2026-03-01T12:00:00+00:00",
        "command": "wallclock lab run ring-bytes ranks=4",
        "machine": {"processor": "A very fast one", "cores": 7, "gpus": []},
    }
    events = [
        {"kind": "ready", "at": 0, "world": 4, "versions": {"torch": "2.13.0"}},
        {"kind": "check", "at": 0, "name": "sums", "right": True},
        {"kind": "measure", "at": 0, "name": "bytes", "samples": [1572864.0] * 4, "where": {"size": 1048576}},
    ]
    (run / "job.json").write_text(json.dumps(job))
    (run / "events.jsonl").write_text("\n".join(map(json.dumps, events)) + '\n{"kind": "mea')
    (run / "outcome.json").write_text('{"state": "done", "cause": "", "seconds": 1}')
    failed = runs / "20260301-120001-ring-bytes-abcdeg"
    shutil.copytree(run, failed)
    (failed / "outcome.json").write_text('{"state": "failed", "cause": "why", "seconds": 1}')
    assert [report.id for report in own_runs(runs)] == [run.name]
    settings = Settings(database=f"sqlite:///{tmp_path}/w.db", sandbox_workers=1, runs=runs)
    with TestClient(create_app(settings)) as client:
        assert "A very fast one, 7 cores" in client.get("/labs/ring-bytes").text
        page = client.get(f"/labs/ring-bytes/{run.name}").text
    assert "<td>sent by each rank</td><td>1.5 MiB</td><td>1.5 MiB</td>" in page
    assert "1.000" in page


def test_no_recorded_run_names_a_place() -> None:
    for path in RECORDED.glob("*.json"):
        assert "/home" not in path.read_text()
        assert "/tmp" not in path.read_text()
        assert "/work" not in path.read_text()


@pytest.fixture(name="without_torch")
def client_without_torch(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    site = client.app.state.site  # type: ignore[attr-defined]
    monkeypatch.setattr(type(site.labs), "trouble", "labs need torch")
    return client


def test_where_no_run_can_be_started_a_recorded_one_is_predicted(without_torch: TestClient) -> None:
    for lab in known_labs():
        page = without_torch.get(f"/labs/{lab}").text
        place = page.index("Predict a recorded run")
        (action,) = re.findall(r'<form class="lab-form" method="get" action="([^"]+)"', page)
        assert action.startswith(f"/labs/{lab}/")
        why = page.index("Why does this server start no runs?")
        assert place < page.index('name="guess"') < why < page.index("labs need torch") < page.index("Then find out")
        table = without_torch.get(action, params={"guess": "3"}).text
        assert "Your prediction" in table, lab
        assert "Your prediction" not in without_torch.get(action).text


@each("name", known_labs())
def test_a_form_says_every_quantity_that_the_formula_of_its_prediction_reads(name: str) -> None:
    reports = [report for report in shipped_runs() if report.lab == name]
    found = recorded_run(known_labs()[name], reports)
    assert found is not None
    report = next(one for one in reports if found.href.endswith(one.id))
    lab, rows = known_labs()[name].run_over(report.backend), dict(found.given)
    read = formula_texts(lab, lab.asked_of({**lab.starts, **report.given}), report.given)
    names = set(re.findall(r"(?<![\w.])[a-z_]+\b(?![.(])", read))
    assert {lab.parameters[name].says for name in report.given if name in lab.parameters} <= set(rows)
    assert "ranks" in rows or "ranks" not in names
    assert names <= {*lab.parameters, *report.places, *lab.let, *lab.measures, "ranks"}
    if not names & set(lab.measures):
        said = " ".join([*rows, *rows.values(), found.asks])
        numbers = re.findall(r"(?<![\w.])\d{1,4}\b", read)
        assert [number for number in numbers if int(number) > 4 and number not in said] == []  # 8 layers, 12 blocks
    assert not re.search(r"\d[kKMGT]?i?[Bs]\b|\.\.|[a-z]_[a-z]|\d,\d", " ".join(rows.values()))


def formula_texts(lab: Lab, measure: str, given: Mapping[str, str]) -> str:
    """The formula of *measure* with every definition that it goes back to."""
    words = lab.words({name: given.get(name, start) for name, start in lab.starts.items()})
    text = lab.measures[measure].predicted.format(**words)
    texts, open_names = [text], set(re.findall(r"[a-z_]+", text))
    known = set[str]()
    while names := (open_names & set(lab.let)) - known:
        known |= names
        texts += [lab.let[name] for name in names]
        open_names = {word for name in names for word in re.findall(r"[a-z_]+", lab.let[name])}
    return " ; ".join(texts)


def test_a_prediction_of_a_recorded_run_that_cannot_be_read_says_why(without_torch: TestClient) -> None:
    (action,) = re.findall(
        r'<form class="lab-form" method="get" action="([^"]+)"', without_torch.get("/labs/all-reduce").text
    )
    page = without_torch.get(action, params={"guess": "fast"}).text
    assert "our prediction:" in page
    assert '<th scope="col">Your prediction' not in page


def test_runs_are_compared_by_machine_when_there_is_a_second_one(tmp_path: Path) -> None:
    settings = Settings(database=f"sqlite:///{tmp_path / 'w.db'}", runs=tmp_path, sandbox_workers=1)
    with TestClient(create_app(settings)) as client:
        _compare_machines(client)


def _compare_machines(client: TestClient) -> None:
    machines: dict[str, set[str]] = {}
    for run in shipped_runs():
        machines.setdefault(run.lab, set()).add(machine_of(run))
    for lab, found in machines.items():
        page = client.get(f"/labs/{lab}").text
        assert ("Compare all runs, by machine" in page) == (len(found) > 1), lab


def test_a_disturbed_run_says_so_at_the_top_and_gives_no_verdict(client: TestClient) -> None:
    disturbed = [one for one in shipped_runs() if one.doubts]
    assert disturbed
    for report in disturbed:
        page = " ".join(client.get(f"/labs/{report.lab}/{report.id}").text.split())
        top = page.partition("<main")[2].partition('<div id="run"')[0]
        assert "Something disturbed this run." in top
        assert all(html.escape(doubt) in top for doubt in report.doubts)
        assert "best fit" not in page
        row = queued(
            lab=report.lab,
            state="done",
            given=json.dumps(dict(report.given)),
            predicted=1.001 * report.measures[-1].median,
        )
        compared = guess_beside_run(lab_called(report.lab), RunResult(report, row))
        assert compared
        assert compared.verdict == ""
        assert not any("yours" in heading for heading in compared.header)
    quiet = next(one for one in shipped_runs() if not one.doubts)
    assert "disturbed this run" not in client.get(f"/labs/{quiet.lab}/{quiet.id}").text


def test_the_command_line_says_first_what_disturbed_a_run() -> None:
    report = next(one for one in shipped_runs() if one.doubts)
    first, *doubts, what_to_do = lab_command._doubts(report)
    assert first == "Something disturbed this run."
    assert doubts == [f"- {doubt}" for doubt in report.doubts]
    assert what_to_do.startswith("Nothing is concluded")
    assert list(lab_command._doubts(replace(report, doubts=()))) == []

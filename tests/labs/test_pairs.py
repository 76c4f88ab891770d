"""Messages between every pair of ranks: `peer=all`."""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.__main__ import main
from app.core.errors import InputError
from app.core.translation import speaking
from app.labs.launch.base import write_run
from app.labs.results.analysis import analyze_report, read_report, report_of
from app.labs.results.report import Report, SlowPair, doubts_about
from app.labs.run import LabRun, RunOutcome
from app.labs.runner.events import CheckEvent, MeasureEvent, RankEvent, ReadyEvent, as_line
from app.labs.spec import lab_called, read_job
from app.main import create_app
from app.server.config import Settings
from app.server.db.run_state import RunState
from app.site.labs.upload import read_sent
from app.site.labs.words import localized_note
from tests.each import each
from tests.labs.gpus import machine

MESSAGES = lab_called("point-to-point")
SIZES = (4096, 67_108_864)
Time = Callable[[int, int, int], float]


def even(first: int, second: int, size: int) -> float:
    return 20e-6 + size / 1e11


def slow(*pairs: tuple[int, int], times: float = 1.4) -> Time:
    return lambda a, b, size: even(a, b, size) * (times if (a, b) in pairs else 1)


def run_of(folder: Path, time: Time, ranks: int = 4, backend: str = "nccl", **given: str) -> LabRun:
    """A run of all pairs that takes *time* for each."""
    job = read_job(MESSAGES.on(backend), {"ranks": str(ranks), "peer": "all", **given})
    devices = machine(ranks)
    run = write_run(folder, job, backend, launcher="by hand", devices=devices)
    events: list[RankEvent] = [ReadyEvent(at=0, world=ranks, versions={}), CheckEvent(at=0, name="message", right=True)]
    for size, (a, b) in itertools.product(SIZES, itertools.combinations(range(ranks), 2)):
        where: Mapping[str, float | str] = {"rank": a, "peer": b, "size": size}
        samples = (time(a, b, size),) * 5
        events.append(MeasureEvent(at=0, name="pair", samples=samples, where=where))
    (run.folder / "events.jsonl").write_text("".join(map(as_line, events)))
    run.write_outcome(RunOutcome(RunState.DONE, seconds=1.0))
    return run


def told(report: Report) -> Iterator[str]:
    yield from (note for note in report.notes if note.startswith("At 64 MiB"))


def test_a_matrix_has_the_times_of_both_directions_at_once(tmp_path: Path) -> None:
    report = report_of(run_of(tmp_path, even))
    assert [one.size for one in report.pairs] == list(SIZES)
    for matrix in report.pairs:
        for a, b in itertools.product(range(4), repeat=2):
            expected = None if a == b else pytest.approx(even(a, b, int(matrix.size)))
            assert matrix.times[a][b] == expected
        assert matrix.slow == ()
    assert report.doubts == ()
    assert report.line is None
    assert next(told(report)) == "At 64 MiB, the 6 pairs of ranks take from 691.1 µs to 691.1 µs."


def test_a_slow_pair_is_named_and_others_are_not(tmp_path: Path) -> None:
    report = report_of(run_of(tmp_path, slow((1, 3))))
    assert report.pairs[1].slow == (SlowPair(1, 3, 0.4),)
    *_, note = told(report)
    assert note.startswith("At 64 MiB, ranks 1 and 3 take 40 % longer than the median of the pairs")


def test_what_all_slow_pairs_share_is_named_once(tmp_path: Path) -> None:
    lame = slow(*((a, b) for a, b in itertools.combinations(range(8), 2) if 5 in (a, b)))
    _, note = told(report_of(run_of(tmp_path, lame, ranks=8)))
    assert note.startswith("At 64 MiB, all 7 slow pairs have rank 5 in common; the slowest takes 40 %")


def test_of_a_disturbed_run_no_pair_is_named(tmp_path: Path) -> None:
    report = report_of(run_of(tmp_path, slow((1, 3))))
    values = read_job(MESSAGES.on("nccl"), {"ranks": "4", "peer": "all"}).values
    disturbed = analyze_report(replace(report, details={"disturbed": "Others used it."}), 4, values)
    assert disturbed.doubts == ("Others used it.",)
    assert disturbed.pairs == report.pairs
    assert list(told(report))
    assert not list(told(disturbed))


def test_slow_pairs_without_a_common_rank_are_named_up_to_five(tmp_path: Path) -> None:
    pairs = [(0, 1), (2, 3), (4, 5), (6, 7), (0, 2), (1, 3)]
    five = list(told(report_of(run_of(tmp_path / "five", slow(*pairs[:5]), ranks=8))))
    assert len(five) == 6  # with the range of all
    *_, last = six = list(told(report_of(run_of(tmp_path / "six", slow(*pairs), ranks=8))))
    assert len(six) == 7
    assert last == "At 64 MiB, 1 more pairs of ranks are slow."


def test_two_alike_pairs_have_no_median_to_be_slow_by_and_three_have_one(tmp_path: Path) -> None:
    late = slow((0, 1), times=9)
    one_in_each_node = report_of(run_of(tmp_path / "two", late, nodes="2"))
    assert one_in_each_node.pairs[1].slow == ()
    three = report_of(run_of(tmp_path / "three", late, ranks=3))
    assert three.pairs[1].slow == (SlowPair(0, 1, 8.0),)


@each(("backend", "times", "count"), [("nccl", 1.2, 1), ("gloo", 1.2, 0), ("gloo", 1.7, 1)])
def test_processes_on_processors_may_differ_more_than_gpus(
    backend: str, times: float, count: int, tmp_path: Path
) -> None:
    report = report_of(run_of(tmp_path / f"{backend}{times}", slow((0, 1), times=times), backend=backend))
    assert len(report.pairs[1].slow) == count


def test_pairs_on_two_nodes_are_slow_only_among_their_like(tmp_path: Path) -> None:
    def time(a: int, b: int, size: int) -> float:
        return even(a, b, size) * (9 if a // 4 != b // 4 else 1) * (2 if (a, b) == (2, 6) else 1)

    report = report_of(run_of(tmp_path, time, ranks=8, nodes="2"))
    assert report.pairs[1].slow == (SlowPair(2, 6, 1.0),)


def test_times_fall_for_no_pair_where_another_is_slower(tmp_path: Path) -> None:
    """Larger messages of one pair are faster than small ones of another: no disturbance."""
    report = report_of(run_of(tmp_path, slow((0, 1), times=1000)))
    assert not any("less than" in doubt for doubt in doubts_about(report, MESSAGES.on("nccl")))


def test_a_run_of_all_pairs_is_read_back_and_taken_from_another_machine(tmp_path: Path) -> None:
    report = report_of(run_of(tmp_path, slow((1, 3))))
    assert read_report(report.as_json()).pairs == report.pairs
    assert read_sent(report.as_json()).pairs == report.pairs
    wrong = json.loads(report.as_json())
    for one in wrong["measures"]:
        one["where"]["peer"] = 4e9
    assert read_sent(json.dumps(wrong)).pairs == ()


def test_the_command_line_and_the_page_show_the_matrix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    run = run_of(runs, slow((1, 3)))
    monkeypatch.setenv("WALLCLOCK_RUNS", str(runs))
    assert main(["lab", "show", run.id]) == 0
    printed = capsys.readouterr().out
    assert "Time between every two ranks, one way, 4 KiB\n" in printed
    assert printed.count("69.36 GB/s*") == 2
    assert "over formula" not in printed
    assert main(["lab", "show", run.id, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pairs"][1]["slow"] == [{"first": 1, "second": 3, "share": 0.4}]
    settings = Settings(database=f"sqlite:///{tmp_path}/w.db", sandbox_workers=1, runs=runs)
    with TestClient(create_app(settings)) as client:
        page = client.get(f"/labs/point-to-point/{run.id}").text
        assert "<caption>Bandwidth between every two ranks, 64 MiB</caption>" in page
        assert page.count("<td>69.36 GB/s*</td>") == 2
        assert "ranks 1 and 3 take 40 % longer" in page
        assert client.get(f"/labs/point-to-point/{run.id}?guess=3").status_code == 200
        assert client.get("/labs/point-to-point").status_code == 200


def test_notes_on_pairs_are_translated(tmp_path: Path) -> None:
    notes = report_of(run_of(tmp_path, slow((1, 3)))).notes
    with speaking("de"):
        assert all(localized_note(note) != note for note in notes if note.startswith("At "))


def test_a_run_on_processors_without_a_peer_is_named_as_before() -> None:
    """Recorded runs, and those sent in, have none."""
    plain = read_job(MESSAGES, {})
    assert "peer" not in plain.given
    assert plain.command.startswith("wallclock lab run point-to-point ranks=2 sizes=")
    assert read_job(MESSAGES, {"peer": "1"}).given == plain.given
    assert " peer=all " in read_job(MESSAGES, {"peer": "all"}).command
    assert " peer=1 " in read_job(MESSAGES.on("nccl"), {}).command


@each("peer", ["every", "0", "8", "1.5", "All"])
def test_a_peer_is_a_rank_or_all(peer: str) -> None:
    with pytest.raises(InputError, match="peer"):
        read_job(MESSAGES, {"ranks": "4", "peer": peer})


@pytest.mark.needs("torch")
@pytest.mark.slow(10)
def test_every_pair_of_processes_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALLCLOCK_RUNS", str(tmp_path / "runs"))
    pairs = ["ranks=3", "peer=all", "sizes=4KiB,16KiB,64KiB"]
    assert main(["lab", "run", "point-to-point", *pairs, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["checks"] == {"message": True}
    assert [one["size"] for one in report["pairs"]] == [4096, 65536]
    for matrix in report["pairs"]:
        for a, row in enumerate(matrix["times"]):
            assert [b for b, time in enumerate(row) if time is None] == [a]
            assert all(time > 0 for time in row if time is not None)

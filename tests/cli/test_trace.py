"""`wallclock trace slim`, and `wallclock measured` on traces."""

import gzip
import json
from pathlib import Path

import pytest

from app.__main__ import main
from app.core.measurements.published import SAMPLES
from tests.measurements.trace.made import collective, flat, step, trace, work

Capture = pytest.CaptureFixture[str]
KEYS = {
    "kind",
    "ranks",
    "steps",
    "wall",
    "compute",
    "exposed_communication",
    "overlapped_communication",
    "exposed_copies",
    "idle",
    "host",
    "collectives",
    "doubts",
}


def job(folder: Path, ranks: int) -> list[str]:
    """A trace for each rank: the last is late."""
    names = []
    for rank in range(ranks):
        begin = 110 if rank == ranks - 1 else 50
        events = flat([step(1, 0, 200), step(2, 200, 400), work(0, begin, launched=-5), collective(begin, 150)])
        file = trace(events, rank=rank, world_size=4)
        path = folder / f"rank{rank}.json.gz"
        path.write_bytes(gzip.compress(file))
        names.append(str(path))
    return names


def test_traces_as_json_one_object_a_file_in_base_units(tmp_path: Path, capsys: Capture) -> None:
    other = tmp_path / "other.json"
    other.write_text("[1]", encoding="utf-8")
    names = job(tmp_path, 2)
    assert main(["measured", names[0], str(other), names[1], "--json"]) == 1
    first, error, second = json.loads(capsys.readouterr().out)
    assert error.keys() == {"error"}
    assert first.keys() == second.keys() == KEYS | {"rank", "skew", "exposed_skew"}
    assert (first["ranks"], first["steps"], first["rank"]) == (2, 1, 0)
    assert [first["wall"], first["compute"]] == pytest.approx([150e-6, 50e-6])
    assert first["skew"] == pytest.approx(60e-6)
    (collectives,) = first["collectives"]
    assert collectives.keys() == {"kind", "count", "bytes", "time", "busbw"}
    assert collectives["busbw"] == pytest.approx(1.5 * 2000 / 40e-6)


def test_a_trace_for_people_says_what_to_try_first(capsys: Capture) -> None:
    assert main(["measured", str(SAMPLES[1].path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("trace of rank 0 of 8 on AMD Instinct MI300X, 2 steps in 37.96 ms\n")
    assert "exposed communication        23.8 ms    62.8 %" in out
    assert "busbw at least 3.4 GB/s" in out
    assert "try first, for at most 19 ms: There is not enough compute to hide it" in out


def test_a_slim_trace_is_smaller_and_says_the_same(tmp_path: Path, capsys: Capture) -> None:
    source, target = tmp_path / "trace.json", tmp_path / "slim.json.gz"
    noise = [
        {"ph": "X", "cat": "python_function", "name": f"/home/me/a.py({n})", "ts": n, "dur": 1} for n in range(500)
    ]
    source.write_bytes(trace([*noise, *flat([work(10, 30, launched=5), collective(20, 90)])]))
    assert main(["trace", "slim", str(source), str(target)]) == 0
    assert capsys.readouterr().err.startswith("4 of 504 events kept")
    assert target.stat().st_size < source.stat().st_size / 20
    assert b"home" not in gzip.decompress(target.read_bytes())
    found = []
    for path in (source, target):
        assert main(["measured", str(path), "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("content", "says"), [(b"hello", "not a trace of the PyTorch profiler"), (None, "No such file")]
)
def test_a_file_that_cannot_be_slimmed_leaves_nothing_behind(
    content: bytes | None, says: str, tmp_path: Path, capsys: Capture
) -> None:
    source, folder = tmp_path / "source", tmp_path / "out"
    folder.mkdir()
    if content is not None:
        source.write_bytes(content)
    assert main(["trace", "slim", str(source), str(folder / "slim.json")]) == 1
    assert says in capsys.readouterr().err
    assert list(folder.iterdir()) == []

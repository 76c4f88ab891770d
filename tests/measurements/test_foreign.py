"""Files of others that a reader once got wrong: what is right in each, on every way to a reader."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.__main__ import main
from app.core.measurements.file_reader import Report, read_files
from app.core.measurements.reports import CollectiveTest, TrainingLog
from tests.each import each

FOLDER = Path(__file__).parent / "foreign"
FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.*") if path.suffix != ".md")
# Steps, seconds of one, tokens per second and GPU, FLOP/s per GPU, MFU.
Log = tuple[int, float, float | None, float | None, float | None]
LOGS: dict[str, list[Log]] = {
    "layouts/axolotl.log": [(8, 2.01, 5120.45, None, None)],
    "layouts/megatron-colors-srun.log": [(7, 5.0124, None, 412.4e12, None)],
    "layouts/nemo-bar.log": [(8, 4.01, None, None, None)],
    "layouts/torchtitan-colors.log": [(5, 0.5, 5868, 339.82e12, 0.3436)],
    "layouts/trainer-bar-its.log": [(8, 0.5, None, None, None)],
    "layouts/trainer-quoted-numbers.log": [(100, 2.01207, None, None, None)],
    "aurora-two-counters.log": [(7, 3.4153, 4797.255, 53.66e12, None)],
    "deepspeed-step-zero-closes-settings.log": [(2, 147.839, 110.82, None, None)],
    "deepspeed-tgs-without-a-space.log": [(2, 23.0737, 720.4955, 43.89e12, None)],
    "gpt-32x4096-taken-for-llama.log": [(5, 75.2496, 3483.71, 149.11e12, None)],
    "megatron-two-runs-in-a-file.log": [(3, 0.087, None, None, None), (3, 243.4383, None, None, None)],
    "megatron-wrapped-lines.log": [(1, 11.1843, None, None, None)],
    "nanochat.log": [(2, 0.11831, None, None, None)],
    "nanotron-suffix-k.log": [(4, 11.5, 11_400, 38.3e12, None)],
    "torchtitan-mfu-151-percent.log": [(3, 1.005, 8150, 471.5e12, 0.205)],
    "trainer-log.jsonl": [(2, 8.1, None, None, None)],
}
# Ranks, sizes that are shown, and the bus bandwidth of the largest in GB/s.
Table = tuple[int | None, int, float | None]
TABLES: dict[str, list[Table]] = {
    "layouts/nccl-tests-decimal-comma.txt": [(8, 5, 397.63)],
    "layouts/nccl-tests-timeout.txt": [(8, 3, 291.27)],
    "layouts/rccl-tests-mi300x.txt": [(8, 5, 397.63)],
    "nccl-tests-2.19-per-iteration.txt": [(8, 4, 399.35)],
    "nccl-tests-cpu-time.txt": [(8, 0, None)],
    "nccl-tests-json-cut-off.json": [(8, 3, 383.48)],
    "nccl-tests-nvls-107-percent.txt": [(8, 4, 479.90)],
    "nccl-tests-old-error-column.txt": [(8, 3, 131.20)],
    "nccl-tests-one-gpu-alltoall.txt": [(1, 0, None)],
    "nccl-tests-op-all.txt": [(16, 6, 3.06), (16, 5, 2.99)],
}
DOUBTS = {
    "megatron-two-runs-in-a-file.log": "run 1 of 2 in this text",
    "nanochat.log": "nanochat of 2025, and autoresearch with its lines",
    "nccl-tests-cpu-time.txt": "the times are those of the CPU (-C 1)",
    "nccl-tests-json-cut-off.json": "what precedes is read",
    "nccl-tests-one-gpu-alltoall.txt": "one rank sends nothing",
    "nccl-tests-op-all.txt": "test 1 of 2 in one table, told by its rows: max",
    "layouts/nccl-tests-timeout.txt": "the test ended with an error",
    "layouts/trainer-quoted-numbers.log": "the time of a step is that of the whole run",
    "torchtitan-mfu-151-percent.log": "divides by 312 TFLOP/s",
    "trainer-log.jsonl": "tokens per second of all GPUs together",
}


def read(name: str) -> list[Report]:
    return read_files([FOLDER / name])


def numbers(log: TrainingLog) -> tuple[float | None, ...]:
    return (log.steps, log.step_time, log.tokens_per_second_per_gpu, log.flops_per_gpu, log.mfu)


def test_every_file_has_its_row_here_and_its_source_in_the_list() -> None:
    assert sorted([*LOGS, *TABLES]) == FILES
    listed = (FOLDER / "README.md").read_text()
    assert all(f"| `{name}` |" in listed for name in FILES)


@each("name", LOGS)
def test_a_log_says_what_is_right(name: str) -> None:
    logs = read(name)
    assert len(logs) == len(LOGS[name])
    for log, expected in zip(logs, LOGS[name], strict=True):
        assert isinstance(log, TrainingLog), log
        assert [value is None for value in numbers(log)] == [value is None for value in expected]
        for value, right in zip(numbers(log), expected, strict=True):
            assert value is None or value == pytest.approx(right, rel=1e-3), (name, log)


@each("name", TABLES)
def test_a_table_says_what_is_right(name: str) -> None:
    tests = read(name)
    assert len(tests) == len(TABLES[name])
    for test, (ranks, sizes, best) in zip(tests, TABLES[name], strict=True):
        assert isinstance(test, CollectiveTest), test
        assert (test.ranks, len(test.rows)) == (ranks, sizes)
        if best is not None:
            assert max(test.rows, key=lambda row: row.size).busbw == pytest.approx(best * 1e9, rel=1e-4)


@each("name", FILES)
def test_what_does_not_add_up_is_said_and_nothing_else(name: str) -> None:
    said = read(name)[0].record()["doubts"]
    assert isinstance(said, list)
    assert (name in DOUBTS) == bool(said), said
    if name in DOUBTS:
        assert DOUBTS[name] in str(said[0]) + str(said[-1])


def test_a_gpt_is_no_llama_and_what_is_guessed_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    (log,) = read("gpt-32x4096-taken-for-llama.log")
    assert isinstance(log, TrainingLog)
    assert "Llama" not in log.model
    assert "feed_forward=16384" in log.model
    assert log.model_guesses == ("key_value_heads=32", "gated=False", "vocabulary=51200")
    file = str(FOLDER / "gpt-32x4096-taken-for-llama.log")
    assert main(["measured", file, "--cluster", "DGX-A100 gpus=16"]) == 0
    printed = capsys.readouterr().out
    assert "recompute=none" in printed
    assert "guessed, since the log does not print it: key_value_heads=32, gated=False" in printed
    assert "not explained" not in printed


def test_what_is_not_printed_of_a_model_is_asked_for(client: TestClient, capsys: pytest.CaptureFixture[str]) -> None:
    file = FOLDER / "deepspeed-step-zero-closes-settings.log"
    assert main(["measured", str(file)]) == 0
    asked = '--model "layers=64 hidden=8192 heads=32 feed_forward=... gated=... vocabulary=..."'
    assert asked in capsys.readouterr().out
    page = client.post("/measured", data={"text": file.read_text()}).text
    assert "a prediction also takes feed_forward, gated, vocabulary" in page


@each("name", FILES)
def test_a_page_shows_it_and_the_command_prints_it(
    name: str, client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["measured", str(FOLDER / name)]) == 0
    assert "cannot" not in capsys.readouterr().out
    page = client.post("/measured", data={"text": (FOLDER / name).read_text()})
    assert page.status_code == 200
    assert "<h2" in page.text


def test_more_than_the_wire_is_explained_and_linked(client: TestClient, capsys: pytest.CaptureFixture[str]) -> None:
    file = FOLDER / "nccl-tests-nvls-107-percent.txt"
    assert main(["measured", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "with sums in the switch it says 38.18 ms" in printed
    assert "(NVLS)" in printed
    assert "/errata/E-79" in printed
    page = client.post("/measured", data={"text": file.read_text()}).text
    assert 'href="/errata/E-79"' in page
    assert client.get("/errata/E-79").status_code == 200

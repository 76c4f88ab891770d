"""`wallclock predict`: one step, or a file of them."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from app.__main__ import main
from app.core.line_reader import short_lines

pytestmark = pytest.mark.slow(8)

Capture = pytest.CaptureFixture[str]
LINE = {"model": "Llama-3.1-8B layers=8", "cluster": "One node of 8 H100"}
ONE = ["--model", "Llama-3.1-8B layers=8", "--cluster", "One node of 8 H100", "--layout", "data=8"]


def written(file: Path, rows: Iterable[object]) -> str:
    texts = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return str(file)


def rows_of(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_one_step_is_a_line_of_json(capsys: Capture) -> None:
    assert main(["predict", *ONE]) == 0
    (row,) = rows_of(capsys.readouterr().out)
    assert row["ref"] is None
    assert row["step_time"] == sum(row["parts"].values())


CONFIG = {
    "model_type": "qwen3",
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151936,
}
DEEPSPEED = {"train_batch_size": 16, "bf16": {"enabled": True}, "zero_optimization": {"stage": 3}}


def predicted(capsys: Capture, *options: str) -> Any:
    assert main(["predict", *options]) == 0
    return rows_of(capsys.readouterr().out)[0]


def test_a_model_and_a_layout_may_be_files_of_others(capsys: Capture, tmp_path: Path) -> None:
    model, layout = tmp_path / "config.json", tmp_path / "deepspeed.json"
    model.write_text(json.dumps(CONFIG), encoding="utf-8")
    layout.write_text(json.dumps(DEEPSPEED), encoding="utf-8")
    fields = "data=8 microbatches=2 zero_stage=3 sequence_parallel=no"
    known = predicted(
        capsys, "--model", "Qwen3-8B", "--cluster", "DGX-H100", "--layout", fields, "--stack", "DeepSpeed"
    )
    for name in (str(model), str(tmp_path), json.dumps(CONFIG)):
        given = ["--model", name, "--cluster", "8 H100", "--layout", str(layout)]
        assert predicted(capsys, *given) == known
    line = {"model": CONFIG, "cluster": "8xH100", "layout": DEEPSPEED}
    file = written(tmp_path / "lines.jsonl", [line, {**line, "model": json.dumps(CONFIG, indent=4)}])
    assert main(["predict", file]) == 0
    assert rows_of(capsys.readouterr().out) == [known, known]


def test_a_file_that_is_no_configuration_is_an_error(capsys: Capture, tmp_path: Path) -> None:
    binary, large = tmp_path / "a.json", tmp_path / "b.json"
    binary.write_bytes(b"\xff\xfe{")
    pickled = tmp_path / "training_args.bin"
    pickled.write_bytes(b"PK\x80\xff")
    large.write_bytes(b"{" + b" " * 300_000)
    for name, says in (
        (str(tmp_path / "none.json"), "does not exist"),
        (str(binary), "is not text"),
        (str(pickled), "is a pickle of PyTorch, which is not opened: give the YAML"),
        (str(large), "has more than 256 KiB"),
        (str(tmp_path), "cannot be read|no model shape is called"),
    ):
        assert main(["predict", "--model", name, *ONE[2:]]) == 1
        assert re.search(says, capsys.readouterr().err)


def test_one_step_is_a_table_on_a_terminal(capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["predict", *ONE, "--recipe", "mixed", "--shares", "product=0.5"]) == 0
    said = capsys.readouterr().out
    for words in ("step  ", "MFU  ", "tokens per second and GPU", "optimizer", "weights", "It fits:"):
        assert words in said
    assert main(["predict", *ONE, "--json"]) == 0
    assert rows_of(capsys.readouterr().out)[0]["fits"] is True
    assert main(["predict", *ONE, "-o", str(tmp_path / "one.jsonl")]) == 0
    assert rows_of((tmp_path / "one.jsonl").read_text())[0]["fits"] is True


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name a file of lines, or one step: --model M --cluster C --layout L"),
        (ONE[:2], "one step also needs --cluster and --layout"),
        (["x.jsonl", *ONE], "--model is for one step, without x.jsonl"),
        ([*ONE[:-1], "dat=8"], "layout: a layout has no field 'dat'; did you mean 'data'?"),
        ([*ONE[:-1], "data=4"], "layout must have as many GPUs as the cluster, 8, not 4"),
        ([*ONE, "--recipe", "mixd"], "did you mean 'mixed'?"),
        (["/nowhere.jsonl"], "/nowhere.jsonl cannot be read: No such file or directory"),
        ([*ONE, "-o", "/nowhere/out.jsonl"], "/nowhere/out.jsonl cannot be written"),
    ],
)
def test_what_is_missing_or_wrong_is_said_in_a_line(capsys: Capture, arguments: list[str], says: str) -> None:
    assert main(["predict", *arguments]) == 1
    said = capsys.readouterr().err
    assert says in said
    assert len(said.splitlines()) == 1


def test_a_file_of_20_000_lines_keeps_its_order_with_errors_in_the_middle(capsys: Capture, tmp_path: Path) -> None:
    def line(n: int) -> object:
        layout = f"data=8 microbatches={1 + n % 50}"
        if 2_000 <= n < 18_000:
            return f'{{"ref": {n}, "measured": NaN' + ("}" if n % 2 else "")
        return {"ref": n, **LINE, "layout": layout}

    source = written(tmp_path / "in.jsonl", map(line, range(20_000)))
    output = tmp_path / "out.jsonl"
    assert main(["predict", source, "-o", str(output)]) == 1
    assert "4,000 predictions, 16,000 lines with an error" in capsys.readouterr().err
    rows = rows_of(output.read_text())
    broken = list(range(2_000, 18_000))
    assert [n for n, row in enumerate(rows) if "error" in row] == broken
    refs = [None if 2_000 <= n < 18_000 and not n % 2 else n for n in range(20_000)]
    assert [row["ref"] for row in rows] == refs
    assert all(rows[n]["error"].startswith(f"line {n + 1}: ") for n in broken)
    assert rows[0] | {"ref": 0} == rows[19_950] | {"ref": 0}
    assert list(tmp_path.glob("*.partial")) == []


def test_measurements_are_summarized(capsys: Capture, tmp_path: Path) -> None:
    def line(microbatches: int, measured: float, **more: object) -> dict[str, object]:
        layout = {"data": 8, "microbatches": microbatches, "sequence": 2048}
        return {**LINE, "layout": layout, "measured": measured, "group": "a", **more}

    plain = written(tmp_path / "plain.jsonl", [line(n, 1.0) for n in (1, 2, 3)])
    assert main(["predict", plain]) == 0
    times = [row["step_time"] for row in rows_of(capsys.readouterr().out)]
    rows = [
        line(1, times[0] / 1.1),
        line(2, times[1] / 0.8),
        line(3, times[2] / 1.3, measured_memory=20e9),
        line(4000, 1.0, group="b", measured_memory=1e9, layout="data=8 micro_batch=64"),
    ]
    file = written(tmp_path / "in.jsonl", rows[:3])
    assert main(["predict", file]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "3 predictions, 0 lines with an error"
    # 10 %, -20 % and 30 %; 1 / 1.1 < 3 / 1.3 < 2 / 0.8: the last two are in the wrong order
    assert said[1] == ("step time: 3 measured, MAPE 20.0 %, bias +6.7 %, Spearman 0.500, regret 0.0 %, at worst 0.0 %")
    assert said[2].startswith("  1 of 3 intervals hold what was measured")
    assert said[3].startswith("memory: 1 measured, MAPE ")
    assert "Spearman" not in said[3]
    assert main(["predict", written(tmp_path / "all.jsonl", rows), "--json"]) == 0
    summary = json.loads(capsys.readouterr().err)["summary"]
    assert (summary["predicted"], summary["errors"]) == (4, 0)
    assert summary["measured_but_predicted_not_to_fit"] == 1
    assert (summary["step_time"]["rows"], summary["memory"]["rows"]) == (4, 2)
    assert summary["step_time"]["groups"] == 1


def test_lines_come_from_a_pipe_as_well(capsys: Capture, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    text = json.dumps({**LINE, "layout": "data=8"})
    writing = threading.Thread(target=(tmp_path / "pipe").write_text, args=(f"\n{text}",))
    writing.start()
    assert main(["predict", str(tmp_path / "pipe")]) == 0
    writing.join()
    assert len(rows_of(capsys.readouterr().out)) == 1


def test_a_command_that_is_killed_leaves_the_old_output_as_it_was(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    output.write_text("old\n")
    command = [sys.executable, "-m", "app", "predict", "-", "-o", str(output)]
    line = json.dumps({**LINE, "layout": "data=8"}).encode() + b"\n"
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        partial = tmp_path / "out.jsonl.partial"
        while not (partial.exists() and partial.stat().st_size):  # some of it is on the disk
            assert process.poll() is None
            process.stdin.write(line * 100)  # Python 3.14 writes 128 KiB at a time
            process.stdin.flush()
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert output.read_text() == "old\n"


def test_lines_are_cut_where_they_are_too_long() -> None:
    long = b"x" * 100_000
    source = io.BytesIO(b"12345\n" + long + b"\n123456\n\n1234\r\n" + long)
    assert list(short_lines(source, 5)) == [b"12345", None, None, b"", b"1234\r", None]
    assert list(short_lines(io.BytesIO(b"12345"), 5)) == [b"12345"]


def test_the_command_starts_without_the_course_and_the_web() -> None:
    code = (
        f"import sys; from app.__main__ import main; main(['predict', *{ONE}]); print("
        "[m for m in ('fastapi', 'sqlalchemy', 'numpy', 'app.course.content', 'app.course.kinds') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == "[]"

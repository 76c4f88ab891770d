"""`wallclock measured`: JSON of a fixed form for programs, a table for people."""

import io
import json
import sys
from pathlib import Path

import pytest

from app.__main__ import main
from app.core.measurements.published import text_of

Capture = pytest.CaptureFixture[str]


def write(folder: Path, name: str) -> str:
    path = folder / name
    path.write_text(text_of(name))
    return str(path)


def test_json_has_one_object_for_each_test_and_file(tmp_path: Path, capsys: Capture) -> None:
    files = [write(tmp_path, name) for name in ("h100-16-p5", "torchtitan-8b-h100")]
    assert main(["measured", *files, str(tmp_path / "gone"), "--json"]) == 1
    test, log, gone = json.loads(capsys.readouterr().out)
    assert list(test) == ["kind", "collective", "ranks", "hardware", "rows", "pieces", "doubts"]
    assert (test["kind"], test["collective"], test["ranks"]) == ("nccl-tests", "all_reduce", 16)
    assert test["rows"][-1] == {
        "size": 17179869184,
        "time": pytest.approx(66132e-6),
        "algbw": pytest.approx(259.78e9),
        "busbw": pytest.approx(487.09e9),
    }
    assert list(test["pieces"][0]) == ["from", "to", "alpha", "bandwidth"]
    assert log["kind"] == "log"
    assert log["mfu"] == pytest.approx(0.34335)
    assert gone == {"error": "gone cannot be read: No such file or directory"}


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    text = text_of("gh200-8-sockets").encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main(["measured", "-", "--cluster", "DGX-H100 gpus_per_node=4 gpus=8"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("all_reduce on 8 ranks")
    assert "likely cause: TCP sockets instead of RDMA" in out


def test_people_see_the_wire_the_formula_and_the_doubts(tmp_path: Path, capsys: Capture) -> None:
    names = ("h100-16-p5", "gb200-128-two-racks", "megatron-mixtral-16-h100")
    assert main(["measured", *(write(tmp_path, name) for name in names)]) == 0
    out = capsys.readouterr().out
    assert "reached 487 GB/s: 122 % of the 8 network cards of a node, 400 GB/s (DGX-H100)" in out
    assert "32 MiB to 16 GiB: 323 µs + size / 250 GB/s" in out
    assert "doubt: Said to be 144 ranks, but the bandwidths say 128." in out
    assert "step        5.534 s, after warm-up" in out


def test_a_log_is_beside_its_prediction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write(tmp_path, "torchtitan-8b-h100")
    given = ["--model", "Llama-3-8B", "--cluster", "DGX-H100 gpus=8", "--layout", "data=8 zero_stage=3"]
    assert main(["measured", log, *given]) == 0
    printed = capsys.readouterr().out
    assert "for Llama-3-8B, DGX-H100 gpus=8, data=8 zero_stage=3:" in printed
    assert "Measured: 1.397 s" in printed
    assert "products reach 37 % of the peak" in printed
    assert main(["measured", log, "--model", "Llama-9", *given[2:]]) == 1
    assert "did you mean 'Llama-3-8B'" in capsys.readouterr().err


def test_an_out_of_memory_error_is_explained_to_people_and_programs(tmp_path: Path, capsys: Capture) -> None:
    error = tmp_path / "error.txt"
    error.write_text(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.83 GiB. GPU 0 has a total capacity of 79.15 GiB"
        " of which 1.00 GiB is free."
    )
    asked = ["measured", str(error), "--model", "Llama-3-8B", "--layout", "sequence=16384"]
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert "PyTorch asked for 7.83 GiB, and 1 GiB was free: 6.83 GiB too little." in out
    assert "16,384 tokens × 128,256 × 4 bytes = 7.828 GiB, to the printed digits" in out
    assert 'wallclock predict --model "Llama-3-8B" --cluster "1 A100 SXM 80GB"' in out
    assert main([*asked, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["kind"] == "out of memory"
    assert found["tensors"][0]["size"] == 16_384 * 128_256 * 4
    assert found["changes"][0]["saves"] == pytest.approx(16_384 * 128_256 * 4 * 15 / 16)
    assert main(["measured", str(error), "--model", "Llama-9"]) == 1
    assert "no model shape is called" in capsys.readouterr().err

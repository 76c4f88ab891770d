"""Data is proven right at every size that was timed, and what is wrong is named."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from app.labs.runner.proof import Difference, Pattern, calls_of_proof, first_difference
from tests.each import each
from tests.waiting import HANGS

# A rank of three. The collective is wrong in every tenth call, above 4 KiB, on rank 1, in its last element.
RANK = """
import sys, importlib
from pathlib import Path
import torch.distributed as dist
from app.labs.runner.rank import WorkerRank

def spoilt(real):
    calls = []
    def call(*arrays, **kwargs):
        work = real(*arrays, **kwargs)
        out = arrays[0]
        if hasattr(out, "numel") and out.numel() * out.element_size() > limit and dist.get_rank() == 1:
            calls.append(1)
            if len(calls) % 10 == 0:
                if work:
                    work.wait()
                out.view(-1)[-1] += 1
        return work
    return call

lab, operation, rank, folder, limit = *sys.argv[1:5], int(sys.argv[5])
values = {"operation": operation, "sizes": [4096.0, 65536.0], "side": 64.0, "size": 65536.0, "peer": "1"}
if lab == "point_to_point":
    values["peer"] = 1.0
own = WorkerRank(int(rank), 3, Path(folder), values=values, on_gpu=False, seconds=100.0)
own.join()
names = ["all_reduce", "all_to_all_single", "broadcast", "recv", "all_gather_into_tensor", "reduce_scatter_tensor"]
for name in (*names, "all_gather_single", "reduce_scatter_single"):
    if hasattr(dist, name):
        setattr(dist, name, spoilt(getattr(dist, name)))
importlib.import_module(f"app.labs.library.{lab}.worker").main(own)
own.leave()
"""
NEVER = 2**40
CASES = [
    ("all_reduce", "all_reduce", "all_reduce at 0.0624962 MiB", "16,383"),
    ("all_reduce", "all_gather", "all_gather at", "16,383"),
    ("all_reduce", "reduce_scatter", "reduce_scatter at", "5,461"),
    ("all_reduce", "all_to_all", "all_to_all at", "16,383"),
    ("all_reduce", "broadcast", "broadcast at", "16,383"),
    ("point_to_point", "", "message at 0.0625 MiB", "16,384"),
    ("two_streams", "", "sum", "16,384"),
]


def ran(folder: Path, lab: str, operation: str, limit: int) -> tuple[list[str], list[dict[str, Any]]]:
    """What three ranks print as their errors, and the events of the run."""
    commands = [[sys.executable, "-c", RANK, lab, operation, str(rank), str(folder), str(limit)] for rank in range(3)]
    ranks = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for command in commands]
    try:
        said = [one.communicate(timeout=HANGS)[1] for one in ranks]
    finally:
        for one in ranks:
            one.kill()
    return said, [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


@pytest.mark.needs("torch")
@pytest.mark.slow(60)
@pytest.mark.parametrize(("lab", "operation", "what", "total"), CASES)
def test_what_is_wrong_in_one_call_of_ten_is_found_and_not_shown(
    tmp_path: Path, lab: str, operation: str, what: str, total: str
) -> None:
    limit = 5000 if operation != "reduce_scatter" else 2000
    said, events = ran(tmp_path, lab, operation, limit)
    last = f"{int(total.replace(',', '')) - 1:,}"
    says = (
        rf"{what}.*: the data is wrong, .*: rank 1 has 1 of {total} elements wrong, the first at offset {last}, in call"
    )
    assert all(re.search(says, one) for one in said), said[0][-500:]
    checks = [one for one in events if one["kind"] == "check"]
    assert re.search(says, checks[-1]["says"])
    assert not checks[-1]["right"]
    shown = [one["where"].get("size") for one in events if one["kind"] == "measure"]
    assert shown == ([] if lab == "two_streams" else [min(shown)])  # the size below is right, and is shown


@pytest.mark.needs("torch")
@pytest.mark.slow(8)
def test_what_is_right_is_proven_at_every_size(tmp_path: Path) -> None:
    said, events = ran(tmp_path, "all_reduce", "all_reduce", NEVER)
    assert said == [""] * 3
    assert [one["right"] for one in events if one["kind"] == "check"] == [True, True]
    assert len([one for one in events if one["kind"] == "measure"]) == 2


@each("kind", [torch.float32, torch.bfloat16])
def test_a_difference_has_the_first_offset_and_the_count(kind: torch.dtype) -> None:
    pattern = Pattern(3, kind, torch.device("cpu"))
    array = torch.empty(3_000_000, dtype=kind)  # longer than its period
    pattern.fill(array, 5, pattern.total)
    assert pattern.difference(array, 5, pattern.total) is None
    for place in (0, 1_500_000, 2_999_999):
        array[place] += 1
    assert pattern.difference(array, 5, pattern.total) == Difference(0, 3, 3_000_000)
    array[0] = float("nan")
    assert pattern.difference(array, 5, pattern.total) == Difference(0, 3, 3_000_000)


def test_numbers_tell_ranks_places_and_calls_apart() -> None:
    pattern = Pattern(3, torch.float32, torch.device("cpu"))
    array = torch.empty(4096)
    pattern.fill(array, 1)
    for other in (0, 2):
        assert pattern.difference(array, other)
    pattern.begin(1)
    assert pattern.difference(array, 1)  # a result of the call before
    pattern.begin(0)
    assert pattern.difference(array.roll(1024), 1)  # a chunk in the place of another


def test_the_first_difference_of_parts_is_at_the_offset_in_the_whole() -> None:
    assert first_difference([None, None]) is None
    assert first_difference([None, Difference(3, 2, 10), Difference(0, 1, 10)]) == Difference(13, 3, 30)


def test_a_proof_takes_ten_calls_unless_they_are_long_and_more_if_they_are_short() -> None:
    assert [calls_of_proof(each, 1000.0) for each in (0.001, 0.03, 0.4, 2.0, 20.0)] == [44, 16, 10, 2, 1]
    assert calls_of_proof(0.4, 1.0) == 1
    assert calls_of_proof(0.0, 0.0) >= 1

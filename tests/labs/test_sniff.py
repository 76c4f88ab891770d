"""Small measurements inside a training job: which ranks are accused, how often, and in a real loop."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.core.folders import ROOT
from tests.each import each

torch = pytest.importorskip("torch")
from app.labs.runner.sniff import SlowRank, Sniffer, slow_ranks, steps_until  # noqa: E402

pytestmark = pytest.mark.needs("torch")
CPU, GPU = torch.device("cpu"), torch.device("cuda")
EVEN = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.01]


def accused(name: str, times: Sequence[float], device: object = GPU) -> list[int]:
    return [rank for (_, rank), _ in slow_ranks(name, times, device)]


def test_a_slow_rank_is_found_and_a_fast_one_is_not_a_fault() -> None:
    assert accused("product", EVEN) == []
    assert accused("product", [*EVEN, 1.12]) == [8]
    assert accused("product", [*EVEN, 0.5]) == []
    assert accused("product", [1.0] * 8 + [1.05]) == []
    assert accused("copy", [1.0] * 8 + [1.05]) == [8]
    assert accused("pairs 1 apart", [1.0] * 7 + [1.2, 1.2]) == [7, 8]


def test_ranks_that_differ_much_anyway_are_not_accused_for_that() -> None:
    wide = [0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3]
    assert accused("product", [*wide, 1.5]) == []
    assert accused("product", [*wide, 4.0]) == [7]
    assert accused("product", [*EVEN, 1.4], CPU) == []


def test_of_two_ranks_none_is_the_slow_one() -> None:
    assert accused("product", [1.0, 9.0]) == []
    assert accused("product", [1.0, 1.0, 9.0]) == [2]


@each("step", [0.001, 0.1, 30.0])
@each("spent", [0.1, 2.0])
def test_the_next_round_waits_until_all_rounds_are_a_small_part_of_the_time(step: float, spent: float) -> None:
    for elapsed in (spent, 3.0, 1000.0):
        steps = steps_until(spent, elapsed, step, 0.02)
        assert spent <= 0.02 * (elapsed + steps * step) * (1 + 1e-9)
        assert steps == 0 or spent > 0.02 * (elapsed + (steps - 1) * step) * (1 - 1e-9)


@pytest.mark.parametrize(("every", "share"), [(0, 0.02), (1, 0.0), (1, 1.0)])
def test_a_share_that_makes_no_sense_is_refused(every: int, share: float) -> None:
    with pytest.raises(ValueError, match="every must be at least 1 and share between 0 and 1"):
        Sniffer(every, share)


def test_a_finding_names_rank_host_and_measure() -> None:
    found = SlowRank(rank=5, host="gpu07", measure="copy", ratio=1.25)
    assert found.says == "rank 5 on gpu07: copy took 1.25 times the median, twice in a row"


@pytest.mark.slow(30)
def test_the_loop_of_the_documentation_finds_a_slow_rank_in_a_small_part_of_the_time(tmp_path: Path) -> None:
    page = (ROOT / "app" / "docs" / "labs.md").read_text()
    (example,) = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "Sniffer" in block]
    slow = (
        "import os, sys, time, app.labs.runner.sniff as sniffing\n"
        "measure_all = sniffing.measure_all\n"
        "def slower(device):\n"
        "    found = dict(measure_all(device))\n"
        "    return found | {'product': 50 * found['product'] + (dist.get_rank() == 1)}\n"
        "sniffing.measure_all, begun = slower, time.monotonic()\n"
        "def tell(sniff):\n"
        f"    with open(f'{tmp_path}/{{dist.get_rank()}}', 'w') as file:\n"
        "        print(sniff.rounds, sniff.spent / (time.monotonic() - begun), *sniff.times, sep=',', file=file)\n"
        "    sys.stdout.flush()\n"
        "    dist.barrier()\n"
    )
    script = tmp_path / "train.py"
    script.write_text(
        example.replace("share=0.02", "share=0.5")
        .replace("sniff = Sniffer(", f"{slow}sniff = Sniffer(")
        .replace(
            "dist.destroy_process_group()", "tell(sniff)\nos._exit(0)  # torch may abort as it takes DDP down over gloo"
        )
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=3", str(script)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=_environment())
    assert done.returncode == 0, done.stderr[-3000:]
    told = [(tmp_path / str(rank)).read_text().strip().split(",") for rank in range(3)]
    for rounds, share, *names in told:
        assert names == ["product", "copy", "all-reduce", "all-to-all", "pairs 1 apart"]
        assert int(rounds) >= 2
        assert float(share) < 0.75
    assert re.search(r"rank 1 on \S+: product took [\d.]+ times the median, twice in a row", done.stdout)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}

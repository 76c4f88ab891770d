"""What a rank finds out about its GPU, about NCCL, and about the clock."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from app.labs.results.notes import details_in, notes_on
from app.labs.runner import nccl
from app.labs.runner.clocks import nvidia_reading
from app.labs.runner.events import ClocksEvent, DetailEvent, GpuReading
from app.labs.runner.gpu import copies, own_gpu, refuse_twins
from app.labs.runner.group import RankGroup
from app.labs.runner.process import position_in
from app.labs.runner.rank import WorkerRank
from app.labs.spec import lab_called
from tests.each import each
from tests.labs.worlds import measure

UUID = "b8c8e2a4-0000-1111-2222-333344445555"
# Lines of logs that others published, with other hosts.
CHANNELS = {
    "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM": "P2P/CUMEM",
    "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read": "P2P/CUMEM",
    "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC": "P2P/IPC",
    "n:1:2 [7] NCCL INFO Channel 04/0 : 7[7] -> 4[4] via P2P/direct pointer": "P2P/direct",
    "n:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct": "SHM/direct",
    "n:1:2 [3] NCCL INFO Channel 03/0 : 11[3] -> 3[3] [receive] via NET/Libfabric/3/GDRDMA": ("NET/Libfabric/GDRDMA"),
    "n:1:2 [0] NCCL INFO Channel 02/0 : 5[1] -> 6[0] [send] via NET/IBext_v8/1/GDRDMA": ("NET/IBext_v8/GDRDMA"),
    "n:1:2 [0] NCCL INFO Channel 01/0 : 0[0] -> 8[0] [send] via NET/IB/0(3)/GDRDMA(PCI)/Shared": ("NET/IB/GDRDMA"),
    "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0": "NET/Socket",
    "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/AWS Libfabric/0": ("NET/AWS Libfabric"),
    "n:1:2 [5] NCCL INFO NVLS comm 0x7efd4a7402a0 headRank -1 nHeads 4 buffSize 1048576": "NVLS",
}
SILENT = (
    "n:1:2 [0] NCCL INFO NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 24)",
    "n:1:2 [0] NCCL INFO Using network IB",
    "n:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>",
    "n:1:2 [0] NCCL INFO Channel 00/24 :    0   1",
)


def test_the_log_of_nccl_names_the_transports() -> None:
    for line, transport in CHANNELS.items():
        assert nccl.transports_in([line]) == {transport}
    assert nccl.transports_in(CHANNELS) == set(CHANNELS.values())
    assert nccl.transports_in(SILENT) == set()


def test_nccl_writes_to_a_file_of_the_run_unless_the_user_has_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS", "NCCL_SOCKET_IFNAME")

    def prepared(**environment: str) -> list[str | None]:
        for name in (*names, "GLOO_SOCKET_IFNAME"):
            monkeypatch.setenv(name, "")  # so that what is set below is removed in the end
            monkeypatch.delenv(name)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        nccl.prepare(tmp_path, 3)
        return [os.environ.get(name) for name in names]

    log = str(tmp_path / "nccl3.log")
    assert prepared() == ["INFO", log, "INIT,NET", None]
    assert prepared(NCCL_DEBUG="WARN") == ["WARN", None, None, None]
    assert prepared(GLOO_SOCKET_IFNAME="lo")[3] == "lo"
    assert prepared(GLOO_SOCKET_IFNAME="eth0")[3] is None
    assert prepared(GLOO_SOCKET_IFNAME="lo", NCCL_SOCKET_IFNAME="eth1")[3] == "eth1"
    Path(log).write_text("\n".join(CHANNELS))
    assert nccl.transports(tmp_path, 3) == sorted(set(CHANNELS.values()))
    assert nccl.transports(tmp_path, 4) == []


@each(("code", "version"), [(22703, "2.27.3"), (21805, "2.18.5"), (2804, "2.8.4"), (23007, "2.30.7")])
def test_a_version_is_read_from_its_code(code: int, version: str) -> None:
    assert nccl.version_of(code) == version


@pytest.mark.parametrize(
    ("visible", "devices"), [(8, [0, 1, 2, 3, 4, 5, 6, 7]), (4, [0, 1, 2, 3, 0, 1, 2, 3]), (1, [0] * 8)]
)
def test_a_rank_takes_the_gpu_that_slurm_shows_it(
    monkeypatch: pytest.MonkeyPatch, visible: int, devices: list[int]
) -> None:
    """All GPUs of a node are visible, or those of a part of it, or that of the rank alone."""
    current: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: visible)
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    for local in range(8):
        environment = {
            "SLURM_PROCID": str(8 + local),
            "SLURM_NTASKS": "16",
            "SLURM_LOCALID": str(local),
            "SLURM_NNODES": "2",
        }
        own_gpu(position_in(environment, 16, 2).local)
    assert [device.index for device in current] == devices


def test_two_ranks_with_one_gpu_are_refused() -> None:
    refuse_twins(["a 1", "a 2", "b 1", "", ""])
    with pytest.raises(RuntimeError, match="ranks 1 and 3 both have GPU 2 of a: start one rank"):
        refuse_twins(["a 1", "a 2", "b 2", "a 2"])


def test_operands_are_more_than_twice_the_cache() -> None:
    for size in (2.0**15, 3.0 * 2**20, 2.0**26, 2.0**34):
        cache = 50 * 2**20
        count = copies(size, cache)
        assert count * size > 2 * cache
        assert (count - 1) * size <= 2 * cache


def test_a_single_rank_on_a_gpu_agrees_without_nccl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # a process group changes it
    group = RankGroup(0, 1, torch.device("cuda", 0))
    group.join(timedelta(seconds=30), dist.FileStore(str(tmp_path / "store"), 1))
    try:
        assert torch.distributed.get_backend() == "gloo"
        group.connect()
        group.barrier()
        assert group.all_gather(2.5) == [2.5]
        assert group.max_over_ranks([1.0, 3.0]) == [1.0, 3.0]
        assert group.texts("Zürich") == ["Zürich"]
        assert group.texts("") == [""]
        assert group.size == 1
    finally:
        group.leave()


def test_processors_have_no_peak_but_room_and_one_operand(tmp_path: Path) -> None:
    rank = WorkerRank(1, 2, tmp_path, values={}, on_gpu=False, seconds=1)
    with pytest.raises(ValueError, match="only the allocator of a GPU"):
        rank.budget.peak(int)
    assert rank.budget.has_room(1e18, "a lot")
    assert rank.timing.rotate(lambda: lambda: "the only one", 1.0)() == "the only one"


def smi(answers: Mapping[str, str]) -> Callable[[Sequence[str]], str | None]:
    """A tool that knows some fields: each answer belongs to the last field of a query."""

    def ask(command: Sequence[str]) -> str | None:
        return answers.get(command[1].rpartition(",")[2], "")

    return ask


NEW = "clocks_event_reasons_counters.hw_power_brake_slowdown"
ROW = f"GPU-{UUID}, 1410, 1980, 680.21, 700.00, 52000, 25, 61"


def test_nvidia_smi_is_asked_for_less_until_it_answers() -> None:
    other = "GPU-0, 345, 1980, 70.1, 700.00, 0, 0, 30"
    full = nvidia_reading(UUID, smi({NEW: f"{other}, 0x1, 0, 0, 0, 0\n{ROW}, 0x4, 5000000, 2000000, 500000, 0\n"}))
    assert full == GpuReading(
        uuid=f"GPU-{UUID}",
        clock=1410e6,
        highest_clock=1980e6,
        power=680.21,
        power_limit=700.0,
        temperature=61.0,
        memory_used=52000 * 2**20,
        utilization=0.25,
        reasons=("the power limit",),
        slowed={"the power limit": 5.0, "the temperature": 2.5, "the power supply": 0.0},
    )
    older = nvidia_reading(UUID, smi({"clocks_throttle_reasons.active": f"{ROW}, 0x0000000000000068\n"}))
    assert older is not None
    assert older.reasons == ("a slowdown of the hardware", "the temperature")
    assert older.slowed == {}
    bare = nvidia_reading(
        UUID, smi({"temperature.gpu": f"GPU-{UUID}, [N/A], 1980, [Not Supported], N/A, N/A, N/A, 61"})
    )
    assert bare is not None
    assert (bare.clock, bare.power, bare.temperature) == (None, None, 61.0)
    assert nvidia_reading(UUID, smi({})) is None
    assert nvidia_reading("another", smi({"temperature.gpu": ROW})) is None
    asked: list[Sequence[str]] = []
    assert nvidia_reading(UUID, asked.append) is None  # too slow
    assert len(asked) == 1
    assert nvidia_reading(UUID, smi({NEW: 'Field "x" is not a valid field to query.'})) is None


def looks(before: GpuReading, after: GpuReading) -> list[ClocksEvent]:
    return [
        ClocksEvent(at=100.0, when="before", reading=before, readings=(before,)),
        ClocksEvent(at=150.0, when="after", reading=after, readings=(after,)),
    ]


def told(*events: ClocksEvent | DetailEvent) -> list[str]:
    return list(notes_on(lab_called("all-reduce"), "nccl", 8, 1, (), (), details_in(events)))


def test_a_report_says_what_held_the_clock_down() -> None:
    counted = looks(
        GpuReading(slowed={"the power limit": 5.0, "the temperature": 1.0}),
        GpuReading(slowed={"the power limit": 11.0, "the temperature": 1.1}, reasons=("x",)),
    )
    assert told(*counted) == [
        "The clock of rank 0's GPU was held down by the power limit for 12% of the run: at its highest, it is faster."
    ]
    seen = looks(GpuReading(), GpuReading(reasons=("the power limit", "the temperature")))
    assert told(*seen) == [
        "The clock of rank 0's GPU was held down by the power limit and the temperature when the "
        "run ended: at its highest, it is faster."
    ]
    assert told(*looks(GpuReading(reasons=("x",)), GpuReading())) == []
    free = GpuReading(slowed={"the power limit": 5.0, "the temperature": 0.0})
    assert told(*looks(free, free)) == []
    assert told(*counted[1:]) == []


def test_a_report_says_how_the_ranks_did_it() -> None:
    found = told(
        DetailEvent(at=1.0, name="transport", says="NVLS, P2P/CUMEM"),
        DetailEvent(at=2.0, name="left out", says="4 GiB"),
        DetailEvent(at=3.0, name="left out", says="8 GiB"),
    )
    assert found == ["Transport: NVLS, P2P/CUMEM.", "Left out: 4 GiB; 8 GiB."]


@each(
    ("ranks", "nodes", "right", "says"),
    [
        (1, 1, None, []),
        (2, 1, None, ["between processes of one machine"]),
        (2, 2, None, ["over the network of 2 nodes"]),
        (2, 2, True, []),
    ],
)
def test_the_caveat_of_gloo_is_about_times_and_names_what_is_between_the_ranks(
    ranks: int, nodes: int, right: bool | None, says: list[str]
) -> None:
    """A run that failed, or that only counted, has none."""
    lab, one = lab_called("all-reduce"), replace(measure("time", {}, 1.0), right=right)
    assert list(notes_on(lab, "gloo", ranks, nodes, (), (), {})) == []
    found = list(notes_on(lab, "gloo", ranks, nodes, (one,), (), {}))
    assert found == [f"Over gloo, {one}, expect a factor of two from run to run." for one in says]

"""The GPUs of a machine: what torch sees counts, and whatever is odd is said."""

import os
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.core.errors import UnavailableError
from app.labs.machines import devices
from app.labs.machines.devices import (
    NO_DEVICES,
    Devices,
    answer_of,
    find_devices,
    find_gpus,
    has_traces,
    join_sources,
    promised_gpus,
    spawn_query,
)
from app.labs.machines.vendor import GpuListing, list_gpus, memory_in_use
from app.labs.runner import probe
from app.labs.runner.probe import SeenDevice, TorchProbe
from tests.each import each
from tests.labs.gpus import (
    H100,
    NO_GPUS,
    NO_KERNEL,
    TOO_OLD,
    answering,
    faulty,
    instance_of,
    listing,
    nvidia_smi,
    seen,
    silent,
    uuid_of,
)
from tests.waiting import HANGS

MIXED = listing(["A0", "A1", "B2", "B3", "B4", "B5", "C6", "C7"])
SLICED = listing([H100] * 2, profiles=["1g.10gb", "3g.40gb"])
GONE = "which hides every GPU"


@pytest.fixture(autouse=True)
def _nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_ASKED", {})
    for name in devices._CHOICES:
        monkeypatch.delenv(name, raising=False)


def mig(uuid: str) -> TorchProbe:
    """What CUDA shows of a GPU that is divided: one instance."""
    one = SeenDevice(name=f"{H100} MIG 1g.10gb", uuid=uuid, capability="9.0")
    return replace(seen(), devices=(one,))


@each(
    ("chosen", "found", "gpus", "names", "note"),
    [
        ({}, seen(range(8)), MIXED, "A0 A1 B2 B3 B4 B5 C6 C7", ""),
        ({"CUDA_VISIBLE_DEVICES": "6,7"}, seen([6, 7]), MIXED, "C6 C7", ""),
        ({"CUDA_VISIBLE_DEVICES": "7,2,0"}, seen([7, 2, 0]), MIXED, "C7 B2 A0", ""),
        ({"CUDA_VISIBLE_DEVICES": f"GPU-{uuid_of(5)}"}, seen([5]), MIXED, "B5", ""),
        ({"CUDA_VISIBLE_DEVICES": "0,9"}, seen([0]), MIXED, "A0", "is '0,9', of which torch sees 1"),
        ({"CUDA_VISIBLE_DEVICES": ""}, seen(error=NO_GPUS), MIXED, "", f"is '', {GONE}"),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, seen(error=NO_GPUS), MIXED, "", f"is '-1', {GONE}"),
        ({"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, seen(error=NO_GPUS), MIXED, "", f"is 'NoDevFiles', {GONE}"),
        ({}, seen(range(2)), MIXED, "A0 A1", "nvidia-smi lists 8 GPUs, of which torch sees 2"),
    ],
)
def test_names_belong_to_the_gpus_that_cuda_shows(
    chosen: dict[str, str], found: TorchProbe, gpus: GpuListing, names: str, note: str
) -> None:
    known = join_sources(found, gpus, chosen)
    assert [one.name for one in known.devices] == [H100] * len(found.devices)
    assert [one.listed.name for one in known.devices if one.listed] == names.split()
    assert note in known.note
    assert bool(note) == bool(known.note)
    assert known.kind == ("cuda" if names else "none")
    assert known.usable == len(names.split())


@each(
    ("uuid", "chosen", "name"),
    [
        (instance_of(1), {}, f"{H100} MIG 3g.40gb"),
        (uuid_of(0), {}, f"{H100} MIG 1g.10gb"),
        (uuid_of(0), {"CUDA_VISIBLE_DEVICES": f"MIG-{instance_of(1)}"}, f"{H100} MIG 3g.40gb"),
        (uuid_of(0), {"CUDA_VISIBLE_DEVICES": f"MIG-{instance_of(1)[:8]}"}, f"{H100} MIG 3g.40gb"),
    ],
)
def test_a_mig_instance_is_called_by_its_profile_and_is_alone(uuid: str, chosen: dict[str, str], name: str) -> None:
    known = join_sources(mig(uuid), SLICED, chosen)
    assert [one.name for one in known.devices] == [name]
    assert known.devices[0].uuid.startswith("MIG-")
    assert known.usable == 1
    assert known.note == "CUDA shows a process one MIG instance only, and this machine has 2"


def test_two_mig_instances_are_chosen_and_one_is_seen() -> None:
    both = {"CUDA_VISIBLE_DEVICES": f"MIG-{instance_of(0)},MIG-{instance_of(1)}"}
    assert join_sources(mig(instance_of(0)), SLICED, both).usable == 1


@each(
    ("found", "gpus", "note"),
    [
        (
            seen(error="it was built without CUDA and without ROCm", cuda="", torch="2.13.0+cpu"),
            listing(),
            f"torch 2.13.0+cpu cannot use this machine's 8 × {H100}: it was built without CUDA",
        ),
        (
            seen(error=TOO_OLD),
            listing(["Tesla V100", "Tesla K40", "Tesla V100"]),
            "torch 2.13.0, built for CUDA 13.0, cannot use this machine's 2 × Tesla V100, 1 × Tesla "
            "K40: The NVIDIA driver on your system is too old",
        ),
        (
            seen(error="Found no NVIDIA driver on your system."),
            GpuListing(tool="nvidia-smi", trouble="nvidia-smi failed: No devices were found"),
            "torch 2.13.0, built for CUDA 13.0, cannot use a GPU of this machine: Found no NVIDIA",
        ),
        (
            TorchProbe(error="the process that was to ask it died: Segmentation fault"),
            listing(),
            "torch could not be asked which GPUs it can use: the process that was to ask it died",
        ),
        (
            seen(error="No HIP GPUs are available", cuda="", hip="6.4"),
            GpuListing(),
            "torch 2.13.0, built for ROCm 6.4, cannot use a GPU of this machine: No HIP GPUs",
        ),
    ],
)
def test_why_torch_sees_no_gpu_is_said(found: TorchProbe, gpus: GpuListing, note: str) -> None:
    known = join_sources(found, gpus, {})
    assert known.note.startswith(note)
    assert (known.kind, known.usable, known.error) == ("none", 0, found.error)


@each(("number", "usable", "rest"), [(0, 0, "none"), (5, 5, "only the 5 before it")])
def test_a_gpu_on_which_no_kernel_runs_ends_those_that_can_be_used(number: int, usable: int, rest: str) -> None:
    known = join_sources(faulty(seen(range(8)), number), listing(), {})
    assert known.usable == usable
    assert known.note == f"{H100}, GPU {number}, failed ({NO_KERNEL}), so {rest} can be used"
    assert [one.works for one in known.devices].count(False) == 1


def test_rocm_is_called_so() -> None:
    one = SeenDevice(name="AMD Instinct MI300X", uuid="6162", capability="gfx942")
    known = join_sources(replace(seen(cuda="", hip="6.4"), devices=(one,)), GpuListing(), {"ROCR_VISIBLE_DEVICES": "1"})
    assert (known.kind, known.hip, known.usable, known.note) == ("rocm", "6.4", 1, "")


# What the vendor's tool says.


def test_nvidia_smi_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{nvidia_smi(tmp_path, SLICED)}{os.pathsep}{os.environ['PATH']}")
    found = list_gpus(5)
    assert found.gpus == SLICED.gpus
    assert found.topology == "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV18\t0-51\nGPU1\tNV18\t X \t0-51"
    assert memory_in_use(5) == [31744 * 2**20, 0]


@pytest.mark.parametrize(
    ("script", "trouble"),
    [
        ("#!/bin/sh\nsleep 600\n", "nvidia-smi did not answer within 0.05 s"),
        ("#!/bin/sh\necho 'NVIDIA-SMI has failed'\nexit 9\n", "nvidia-smi failed: NVIDIA-SMI has failed"),
        ("#!/bin/sh\nexit 3\n", "nvidia-smi failed: 3"),
        ("#!/nowhere\n", "nvidia-smi cannot be run: No such file or directory"),
    ],
)
def test_a_tool_that_is_slow_or_fails_costs_a_note_and_no_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, trouble: str
) -> None:
    places = nvidia_smi(tmp_path, listing(), script)
    monkeypatch.setenv("PATH", f"{places}{os.pathsep}{os.environ['PATH']}")
    found = find_gpus(answering(seen(range(3))), tool_seconds=0.05 if "sleep" in script else HANGS)
    assert found.note == f"{trouble}, so limits and modes of the GPUs are unknown"
    assert [one.name for one in found.devices] == [H100] * 3
    assert found.usable == 3


def test_an_older_driver_has_the_power_limit_at_another_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = nvidia_smi(tmp_path, listing([H100]))
    log = (tmp_path / "log").read_text()
    old = log.replace("gpu_power_readings", "power_readings").replace("current_power_limit", "power_limit")
    (tmp_path / "log").write_text(old.replace("mig_mode", "other"))
    monkeypatch.setenv("PATH", f"{places}{os.pathsep}{os.environ['PATH']}")
    (one,) = list_gpus(5).gpus
    assert (one.name, one.driver, one.mig, one.power) == (H100, "580.65.06", "", "700.00")


def test_what_a_tool_does_not_know_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus = listing(["NVIDIA GeForce RTX 4090 Laptop GPU"])
    unknown = replace(gpus.gpus[0], ecc="N/A", mig="[N/A]", power="")
    places = nvidia_smi(tmp_path, replace(gpus, gpus=(unknown,)))
    monkeypatch.setenv("PATH", f"{places}{os.pathsep}{os.environ['PATH']}")
    (one,) = list_gpus(5).gpus
    assert (one.ecc, one.mig, one.power, one.clock) == ("", "", "", "1980")


# What torch says.


def fake_torch(count: int, **more: Any) -> SimpleNamespace:
    """A torch with CUDA and *count* GPUs."""

    def ones(size: int, device: str) -> SimpleNamespace:
        total = SimpleNamespace(item=lambda: more.get("total", size))
        if device == more.get("breaks"):
            raise RuntimeError(f"\n{NO_KERNEL}\nSearch for `cudaErrorNoKernelImageForDevice'")
        return SimpleNamespace(sum=lambda: total)

    def init() -> None:
        if "error" in more:
            raise RuntimeError(more["error"])

    cuda = SimpleNamespace(
        init=init,
        device_count=lambda: count,
        get_device_properties=lambda n: SimpleNamespace(
            name=H100, uuid=uuid_of(n), major=9, minor=0, total_memory=80, gcnArchName="gfx942:sramecc+"
        ),
        mem_get_info=lambda _: (79, 80),
        can_device_access_peer=lambda a, b: abs(a - b) == 1,
    )
    version = SimpleNamespace(cuda=more.get("cuda", "13.0"), hip=more.get("hip"))
    return SimpleNamespace(__version__="2.13.0", version=version, cuda=cuda, ones=ones)


def test_torch_is_asked_for_each_gpu_and_runs_a_kernel_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", fake_torch(3, breaks="cuda:2"))
    found = probe.probe_torch()
    assert (found.torch, found.cuda, found.hip, found.error) == ("2.13.0", "13.0", "", "")
    assert [one.fault for one in found.devices] == ["", "", NO_KERNEL]
    assert [one.peers for one in found.devices] == [(1,), (0, 2), ()]
    first = found.devices[0]
    assert (first.uuid, first.capability, first.memory_bytes, first.free_bytes) == (uuid_of(0), "9.0", 80, 79)


@pytest.mark.parametrize(
    ("torch", "error"),
    [
        (fake_torch(0, cuda=None), "it was built without CUDA and without ROCm"),
        (fake_torch(0, error=TOO_OLD), TOO_OLD),
        (fake_torch(0, error=""), "RuntimeError"),
    ],
)
def test_a_torch_that_cannot_use_gpus_says_why(
    monkeypatch: pytest.MonkeyPatch, torch: SimpleNamespace, error: str
) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch)
    found = probe.probe_torch()
    assert (found.devices, found.error) == ((), error)


def test_a_gpu_that_adds_wrongly_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", fake_torch(1, total=7, cuda=None, hip="6.4"))
    (one,) = probe.probe_torch().devices
    assert (one.fault, one.capability) == ("it adds wrongly", "gfx942")


@pytest.mark.needs("torch")
def test_the_torch_that_is_installed_answers_from_another_process() -> None:
    found = answer_of(spawn_query, 60)
    assert found.torch.partition("+")[0] == version("torch").partition("+")[0]
    built_for_gpus = bool(found.cuda or found.hip)
    assert (found.error == "it was built without CUDA and without ROCm") == (not built_for_gpus)
    assert bool(found.devices) != bool(found.error)


@each(
    ("start", "error"),
    [
        (silent, "it did not answer within 0.05 s"),
        (answering("Segmentation fault"), "the process that was to ask it died: Segmentation fault"),
    ],
)
def test_a_process_that_does_not_answer_is_told_of(start: devices.Start, error: str) -> None:
    assert answer_of(start, 0.05) == TorchProbe(error=error)


# When it is asked.


@pytest.fixture
def tool_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    places = nvidia_smi(tmp_path, listing())
    monkeypatch.setenv("PATH", f"{places}{os.pathsep}{os.environ['PATH']}")
    return places


@pytest.mark.usefixtures("tool_on_path")
def test_it_is_asked_once_by_however_many_threads() -> None:
    started, found = [], list[Devices]()

    def start(printed: Path) -> int:
        started.append(1)
        time.sleep(0.05)
        return answering(seen(range(8)))(printed)

    threads = [threading.Thread(target=lambda: found.append(find_devices(start))) for _ in range(9)]
    with ExitStack() as ended:
        for thread in threads:
            thread.start()
            ended.callback(thread.join)
    assert len(started) == 1
    assert [one.usable for one in found] == [8] * 9
    assert len(set(map(id, found))) == 1


@pytest.mark.usefixtures("tool_on_path")
def test_it_is_asked_again_for_other_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_devices(answering(seen(range(8)))).usable == 8
    assert find_devices(answering(seen([0]))).usable == 8
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert find_devices(answering(seen([1]))).usable == 1


@pytest.mark.usefixtures("tool_on_path")
@pytest.mark.parametrize(
    ("first", "again"),
    [
        (faulty(seen(range(8)), 2), True),  # it may have been busy
        ("Segmentation fault", True),
        (seen(range(8)), False),
        (seen(error=TOO_OLD), False),  # of no use without a restart
    ],
)
def test_what_may_have_passed_is_asked_again_after_a_while(
    first: TorchProbe | str, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = find_devices(answering(first))
    assert find_devices(answering(seen([7]))) is before
    monkeypatch.setattr(devices, "_AGAIN", 0.0)
    assert (find_devices(answering(seen([7]))) is not before) == again


@pytest.mark.usefixtures("tool_on_path")
def test_one_who_cannot_wait_is_told_that_it_is_not_known_yet() -> None:
    gate = threading.Event()

    def start(printed: Path) -> int:
        gate.wait()
        return answering(seen(range(8)))(printed)

    early = find_devices(start, patience=0.01)
    assert (early.usable, "has not said yet" in early.note) == (0, True)
    gate.set()
    assert find_devices(start).usable == 8


@pytest.mark.usefixtures("tool_on_path")
def test_without_torch_the_note_says_so() -> None:
    def start(_: Path) -> int:
        raise UnavailableError("labs need torch: torch is not installed")

    assert "labs need torch" in find_devices(start).note


def test_without_a_trace_of_a_gpu_nothing_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: Path) -> int:
        raise AssertionError

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(devices, "_NODES", (str(tmp_path / "nvidia*"),))
    monkeypatch.setattr("app.labs.machines.vendor._ASIDE", "")
    assert not has_traces()
    assert find_devices(start) is NO_DEVICES
    (tmp_path / "nvidia0").write_text("")
    assert has_traces()


def test_gpus_of_a_cluster_are_counted_and_otherwise_unknown() -> None:
    assert promised_gpus(3).usable == 3
    assert replace(promised_gpus(0), setting="") == NO_DEVICES

"""The choice of the backend: every lab, asked for in every way, on machines of every sort."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from app.commands.lab_launch import planned_elsewhere
from app.core.errors import InputError
from app.labs.launch import base
from app.labs.launch.base import LaunchPlan, plan_job
from app.labs.machines.devices import NO_DEVICES, Devices, join_sources, promised_gpus
from app.labs.spec import Lab, Parameter, known_labs, lab_called
from tests.each import each
from tests.labs.gpus import NO_GPUS, TOO_OLD, faulty, listing, machine, seen

WITHOUT_CUDA = join_sources(
    seen(error="it was built without CUDA and without ROCm", cuda="", torch="2.13.0+cpu"), listing(), {}
)
OLD_DRIVER = join_sources(seen(error=TOO_OLD), listing(), {})
HIDDEN = join_sources(seen(error=NO_GPUS), listing(), {"CUDA_VISIBLE_DEVICES": "NoDevFiles"})
BROKEN = join_sources(faulty(seen(range(8)), 3), listing(), {})
PLANNING = {"run": plan_job, "prepare": planned_elsewhere}


@pytest.fixture(autouse=True)
def _traces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a trace of a GPU, unless a test says otherwise."""
    monkeypatch.setattr(base, "has_traces", lambda: True)


def made(lab: Lab, devices: Devices, asked: str = "auto", **given: str) -> LaunchPlan:
    return plan_job(lab, given, asked, lambda: devices)


def reduce(devices: Devices, asked: str = "auto", **given: str) -> LaunchPlan:
    return made(lab_called("all-reduce"), devices, asked, **given)


@each("how", PLANNING)
@each("asked", ["nccl", "gloo", "auto"])
@each("name", known_labs())
def test_every_lab_is_refused_with_words_or_honored(name: str, asked: str, how: str) -> None:
    lab = lab_called(name)
    if asked == "nccl" and lab.gpu is None:
        with pytest.raises(InputError, match=f"{name} runs on processors only, over gloo: "):
            PLANNING[how](lab, {}, asked, lambda: machine(8))
        return
    found = PLANNING[how](lab, {}, asked, lambda: machine(8))
    assert found.backend == ("nccl" if lab.gpu and asked != "gloo" else "gloo")
    assert found.job.lab is lab.on(found.backend)
    if asked == "auto" and lab.gpu is None:
        (note,) = found.notes
        assert note == f"On processors, over gloo: {lab.why_processors}."
    elif asked == "auto" and how == "prepare":
        assert "for one GPU per rank, over nccl" in found.notes[-1]
    else:
        assert found.notes == ()


@pytest.mark.parametrize("name", known_labs())
def test_on_a_plain_machine_there_is_nothing_to_explain(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "has_traces", lambda: False)
    lab = lab_called(name)
    found = made(lab, NO_DEVICES)
    assert (found.backend, found.notes, found.job.lab) == ("gloo", (), lab)
    assert found.job.ranks == lab.ranks[2]


def test_devices_are_found_only_where_they_matter() -> None:
    def find() -> Devices:
        raise AssertionError

    assert plan_job(lab_called("all-reduce"), {}, "gloo", find).backend == "gloo"
    assert plan_job(lab_called("ring-bytes"), {}, "auto", find).backend == "gloo"
    assert planned_elsewhere(lab_called("all-reduce"), {}, "nccl", find).backend == "nccl"


@each(
    ("devices", "note"),
    [
        (WITHOUT_CUDA, "torch 2.13.0+cpu cannot use this machine's 8 × NVIDIA H100 80GB HBM3: it was"),
        (OLD_DRIVER, "torch 2.13.0, built for CUDA 13.0, cannot use this machine's 8 × NVIDIA H100"),
        (HIDDEN, "CUDA_VISIBLE_DEVICES is 'NoDevFiles', which hides every GPU."),
        (machine(1), "NCCL needs one GPU per rank: 2 ranks, and there is 1 GPU."),
        (NO_DEVICES, ""),
        (promised_gpus(0), ""),
    ],
)
def test_auto_says_why_it_takes_processors(devices: Devices, note: str) -> None:
    found = reduce(devices)
    assert (found.backend, found.job.ranks) == ("gloo", 2)
    assert [text.partition(": ")[0] for text in found.notes] == ["On processors, over gloo"] * bool(note)
    assert all(text.partition(": ")[2].startswith(note) for text in found.notes)
    none = devices.note or devices.setting or "there is none"
    why = none if not devices.usable else "there is 1 GPU"
    with pytest.raises(InputError) as caught:
        reduce(devices, "nccl")
    assert why in str(caught.value)
    assert "; take gloo, which runs on processors" in str(caught.value)
    with pytest.raises(InputError, match="; take fewer ranks, or gloo, which runs on processors"):
        reduce(machine(3), "nccl", ranks="4")


@each(
    ("have", "given", "ranks", "backend"),
    [
        (8, {}, 8, "nccl"),
        (3, {}, 3, "nccl"),
        (2, {}, 2, "nccl"),
        (16, {}, 8, "nccl"),
        (8, {"ranks": "4"}, 4, "nccl"),
        (3, {"ranks": "4"}, 4, "gloo"),
    ],
)
def test_ranks_that_are_not_given_are_all_gpus_within_the_labs_bounds(
    have: int, given: dict[str, str], ranks: int, backend: str
) -> None:
    lab = lab_called("all-reduce")
    assert lab.gpu
    lab = lab.model_copy(update={"gpu": lab.gpu.model_copy(update={"ranks": (2, 8, 2)})})
    found = made(lab, machine(have), **given)
    assert (found.backend, found.job.ranks, found.job.given["ranks"]) == (backend, ranks, str(ranks))
    assert bool(found.notes) == (backend == "gloo")


def test_only_gpus_before_the_first_that_fails_are_taken_and_it_is_said() -> None:
    found = reduce(BROKEN)
    assert (found.backend, found.job.ranks) == ("nccl", 3)
    assert "GPU 3, failed (CUDA error: no kernel image" in found.notes[0]
    four = reduce(BROKEN, ranks="4")
    assert four.backend == "gloo"
    assert "4 ranks, and there are 3 GPUs (NVIDIA H100" in four.notes[0]


def test_a_lab_without_links_takes_all_gpus_and_one_where_one_is_asked_for() -> None:
    found = made(lab_called("matrix-product"), machine(8))
    assert (found.backend, found.job.ranks) == ("nccl", 8)
    found = made(lab_called("matrix-product"), machine(8), ranks="1")
    assert (found.backend, found.job.ranks) == ("nccl", 1)


@pytest.fixture
def two_forms() -> Lab:
    """A lab with other parameters on GPUs."""
    lab = lab_called("all-reduce")
    assert lab.gpu
    gpu = lab.gpu
    sizes = gpu.parameters["sizes"].model_copy(update={"least": "8 KiB", "start": "8KiB..16KiB"})
    format_ = Parameter(says="number format", one_of=("bf16", "fp8"), start="bf16")
    parameters = {**gpu.parameters, "sizes": sizes, "format": format_}
    form = gpu.model_copy(update={"parameters": parameters, "ranks": (2, 1024, 2)})
    return lab.model_copy(update={"gpu": form})


def test_the_form_for_gpus_has_its_own_defaults(two_forms: Lab) -> None:
    assert made(two_forms, machine(8)).job.given["sizes"] == "8KiB..16KiB"
    assert made(two_forms, NO_DEVICES).job.given["sizes"] == "4KiB..64MiB"


@pytest.mark.parametrize(
    ("given", "devices", "backend", "note"),
    [
        ({"sizes": "4KiB"}, machine(8), "gloo", "does not take these parameters (sizes must be from 8 KiB"),
        ({"sizes": "4KiB"}, NO_DEVICES, "gloo", ""),
        ({"format": "fp8"}, machine(8), "nccl", ""),
        ({"ranks": "16"}, promised_gpus(16), "nccl", ""),
    ],
)
def test_parameters_choose_the_form_that_takes_them(
    two_forms: Lab, given: dict[str, str], devices: Devices, backend: str, note: str
) -> None:
    found = made(two_forms, devices, **given)
    assert found.backend == backend
    assert note in "".join(found.notes)
    assert bool(note) == bool(found.notes)


@pytest.mark.parametrize(
    ("given", "devices", "says"),
    [
        ({"format": "fp8"}, NO_DEVICES, "has no 'format'; its form for GPUs takes that, but NCCL needs"),
        ({"format": "fp8"}, OLD_DRIVER, "is too old"),
        ({"ranks": "16"}, machine(8), "16 ranks, and there are 8 GPUs"),
        ({"nothing": "1"}, machine(8), "all-reduce has no 'nothing'"),
        ({"sizes": "1 s"}, NO_DEVICES, "sizes: "),
    ],
)
def test_parameters_that_no_form_here_takes_are_refused(
    two_forms: Lab, given: Mapping[str, str], devices: Devices, says: str
) -> None:
    with pytest.raises(InputError) as caught:
        made(two_forms, devices, **given)
    assert says in str(caught.value)


def test_what_is_prepared_for_another_machine_says_what_was_chosen() -> None:
    lab = lab_called("all-reduce")
    here = planned_elsewhere(lab, {}, "auto", lambda: NO_DEVICES)
    assert here.backend == "gloo"
    assert "--backend nccl prepares it for one GPU per rank" in here.notes[0]
    assert planned_elsewhere(lab, {"ranks": "8"}, "nccl", lambda: NO_DEVICES).job.ranks == 8
    assert planned_elsewhere(lab, {}, "gloo", lambda: machine(8)).notes == ()
    odd = planned_elsewhere(lab, {}, "auto", lambda: replace(machine(8), note="it is odd"))
    assert odd.notes[0] == "It is odd."

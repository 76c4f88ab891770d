"""The choice of the backend, for a run from anywhere: refused with words, or honored.

Over nccl each rank has a GPU, over gloo it is a process on the processors. Where the machine has
GPUs or a trace of one, a choice of gloo says why.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from app.core.errors import InputError, sentence
from app.labs.machines.devices import Devices, has_traces
from app.labs.results.duration import refuse_too_long
from app.labs.spec import NODES, RANKS, Lab, LabJob, read_job

Backend = Literal["nccl", "gloo"]
Find = Callable[[], Devices]
_ELSEWHERE: Mapping[Backend, str] = {
    "gloo": "It is prepared for processors, over gloo: the GPUs of the machine that it will run on "
    "are not known here. --backend nccl prepares it for one GPU per rank.",
    "nccl": "It is prepared for one GPU per rank, over nccl, as this machine could run it. "
    "--backend gloo prepares it for processors.",
}


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """A job in the form for its *backend*, and *notes* on the choice, each a sentence."""

    job: LabJob
    backend: Backend
    notes: tuple[str, ...] = ()


def planned(lab: Lab, given: Mapping[str, str], asked: str, find: Find) -> LaunchPlan:
    """The job of *lab* with the parameters *given*, over nccl, gloo or, if *asked* is auto, either.

    Over nccl, ranks that are not given are all GPUs of one node, or of the nodes that are given,
    within the bounds of the lab. *find* returns the GPUs; it is called only where they matter.

    Raises:
        InputError: a parameter is not valid, the lab has no form for GPUs, or there are too few.
    """
    if asked == "gloo":
        return _on_processors(lab, given)
    if asked == "nccl":
        return _on_gpus(lab.on("nccl"), given, find())
    if lab.gpu is None:
        return _on_processors(lab, given, lab.why_processors if has_traces() else "")
    return _either(lab, lab.gpu, given, find())


def planned_elsewhere(lab: Lab, given: Mapping[str, str], asked: str, find: Find) -> LaunchPlan:
    """The job of a run that another machine will start, whose GPUs are not known.

    *find* returns those of this machine, from which auto chooses.

    Raises:
        InputError: a parameter is not valid, or the lab has no form for GPUs.
    """
    if asked == "nccl":
        return LaunchPlan(read_job(lab.on("nccl"), given), "nccl")
    plan = planned(lab, given, asked, find)
    if asked == "gloo" or lab.gpu is None:
        return plan
    return LaunchPlan(plan.job, plan.backend, (*plan.notes, _ELSEWHERE[plan.backend]))


def ranks_on(form: Lab, devices: Devices, nodes: int = 1) -> int:
    """The ranks of *form* where none are given: one per GPU of *nodes*, if the lab takes them."""
    least, most, _ = form.ranks
    return max(least, min(most, devices.usable * nodes // devices.nodes))


def _either(lab: Lab, form: Lab, given: Mapping[str, str], devices: Devices) -> LaunchPlan:
    """The job in that *form* on GPUs, or on processors if the GPUs or the parameters require it."""
    here, there = _reason_against(lab, given), _reason_against(form, given)
    if here and there:
        raise InputError(here if here == there else f"{here}; over nccl, {there}")
    if there:
        reason = f"its form for GPUs does not take these parameters ({there})"
        return _on_processors(lab, given, reason if devices.usable else devices.note)
    ranks = _job_on(form, given, devices).ranks
    if ranks <= devices.usable:
        return _on_gpus(form, given, devices)
    if here:
        raise InputError(f"{here}; its form for GPUs takes that, but {_shortage(ranks, devices)}")
    return _on_processors(lab, given, _shortage(ranks, devices) if devices.usable else devices.note)


def _on_gpus(form: Lab, given: Mapping[str, str], devices: Devices) -> LaunchPlan:
    job = _job_on(form, given, devices)
    if job.ranks > devices.usable:
        fewer = "fewer ranks, or " if devices.usable >= form.ranks[0] else ""
        raise InputError(f"{_shortage(job.ranks, devices)}; take {fewer}gloo, which runs on processors")
    return LaunchPlan(job, "nccl", (sentence(devices.note),) if devices.note else ())


def _job_on(form: Lab, given: Mapping[str, str], devices: Devices) -> LabJob:
    text = given.get(NODES, "")
    nodes = int(text) if text.isdecimal() else 1  # otherwise read_job says what is wrong
    return read_job(form, {RANKS: str(ranks_on(form, devices, nodes)), **given})


def _on_processors(lab: Lab, given: Mapping[str, str], why: str = "") -> LaunchPlan:
    notes = (sentence(f"on processors, over gloo: {why}"),) if why else ()
    job = read_job(lab, given)
    refuse_too_long(job)
    return LaunchPlan(job, "gloo", notes)


def _reason_against(form: Lab, given: Mapping[str, str]) -> str:
    """Why *form* does not take the parameters *given*; empty if it does."""
    try:
        read_job(form, given)
    except InputError as error:
        return str(error)
    return ""


def _shortage(ranks: int, devices: Devices) -> str:
    have = {0: "there is none", 1: "there is 1 GPU"}.get(devices.usable, f"there are {devices.usable} GPUs")
    need = "1 rank" if ranks == 1 else f"{ranks} ranks"
    says = devices.note or devices.setting
    why = f" ({says})" if says else ""
    return f"NCCL needs one GPU per rank: {need}, and {have}{why}"

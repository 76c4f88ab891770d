"""The form for a run on a lab's page: processors or GPUs, and the parameters for either."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.core.translation import Numeral, noted, translate
from app.labs.launch.plan import planned, ranks_on
from app.labs.machines.devices import Devices
from app.labs.parameters import Parameter
from app.labs.results.stored_notes import localized_note
from app.labs.spec import NODES, RANKS, Lab
from app.site import Site
from app.site.web.labs.labels import BACKEND, gpus_in_words
from app.site.web.urls import lab_url

_PROCESSORS = noted("Processors, over gloo")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabParameterField:
    """A parameter in the form."""

    name: str
    says: str
    value: str
    bounds: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendChoice:
    """A link to the form for one backend."""

    href: str
    text: str
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunForm:
    """A *lab* as it would run over *backend*, which is empty where there is no choice of one.

    *notes* say why it would run like that.
    """

    lab: Lab
    backend: str
    choices: tuple[BackendChoice, ...]
    notes: tuple[str, ...]
    fields: tuple[LabParameterField, ...]


def run_form(site: Site, lab: Lab, values: Mapping[str, str]) -> RunForm:
    """The form for *lab* with the *values* that were typed or are in the address."""
    devices = site.labs.devices() if lab.gpu else Devices()
    if lab.gpu is None or devices.usable < lab.gpu.ranks[0]:
        notes = () if site.labs.trouble else planned(lab, {}, "auto", lambda: devices).notes
        fields = tuple(_fields(site, lab, values, lab.ranks))
        return RunForm(lab=lab, backend="", choices=(), notes=tuple(map(localized_note, notes)), fields=fields)
    on_gpus = values.get(BACKEND) != "gloo"
    form = lab.gpu if on_gpus else lab
    ranks = (form.ranks[0], min(form.ranks[1], devices.usable), ranks_on(form, devices))
    return RunForm(
        lab=form,
        backend="nccl" if on_gpus else "gloo",
        choices=_choices(lab, lab.gpu, devices, on_gpus=on_gpus),
        notes=tuple(map(localized_note, planned(lab, {}, "nccl", lambda: devices).notes)) if on_gpus else (),
        fields=tuple(_fields(site, form, values, ranks if on_gpus else form.ranks, on_gpus=on_gpus)),
    )


def _choices(lab: Lab, form: Lab, devices: Devices, *, on_gpus: bool) -> tuple[BackendChoice, ...]:
    most = min(form.ranks[1], devices.usable)
    gpus = gpus_in_words(most)
    if most != form.ranks[0]:
        gpus = translate("Up to {gpus}", gpus=gpus)
    return tuple(
        BackendChoice(
            href=f"{lab_url(lab.name)}?{BACKEND}={backend}", text=text, is_chosen=on_gpus == (backend == "nccl")
        )
        for backend, text in (("nccl", translate("{gpus}, over NCCL", gpus=gpus)), ("gloo", translate(_PROCESSORS)))
    )


def _start(parameter: Parameter) -> str:
    """What a parameter starts with, as its page writes numbers."""
    text = str(parameter.start)
    return text if parameter.several or parameter.one_of else Numeral(text)


def _fields(
    site: Site, lab: Lab, values: Mapping[str, str], ranks: tuple[int, int, int], *, on_gpus: bool = False
) -> Iterator[LabParameterField]:
    least, most, start = ranks
    if most > least:
        yield LabParameterField(
            name=RANKS,
            says=translate("ranks, one GPU each") if on_gpus else translate("processes"),
            value=values.get(RANKS, str(start)),
            bounds=translate("{least} to {most}", least=least, most=most),
            options=(),
        )
    nodes = min(most, site.labs.launcher.most_nodes)
    if nodes > 1 and lab.links != "emulated":
        yield LabParameterField(
            name=NODES,
            says=translate("nodes"),
            value=values.get(NODES, ""),
            bounds=translate("1 to {nodes}; empty: as few as have room for the ranks", nodes=nodes),
            options=(),
        )
    for name, one in lab.parameters.items():
        bounds = "" if one.one_of else translate("{least} to {most}", least=one.least, most=one.most)
        several = translate("; several with commas, or a range as in A..B") if one.several else ""
        yield LabParameterField(
            name=name,
            says=one.says,
            value=values.get(name, _start(one)),
            bounds=f"{bounds}{several}",
            options=one.one_of,
        )

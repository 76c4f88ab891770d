"""Fields of a layout that a search does not vary."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.core.formulas.checks import whole
from app.core.formulas.presets import Layout
from app.core.formulas.records import field_value, hints_of
from app.core.searching.space import CONSTANT, SEARCHED
from app.core.translation import noted, offer, say
from app.core.units import Count

_ELSEWHERE = {
    "sequence": noted("the tokens of a sequence are given beside the batch"),
    "microbatches": noted("it follows from the batch; fix micro_batch or data"),
    "name": noted("it is not searched"),
    "source": noted("it is not searched"),
}


def fixed_fields(pairs: Sequence[str]) -> Mapping[str, Any]:
    """The fields of a layout in *pairs* such as `tensor=8`.

    Raises:
        ValueError: one is not such a pair, is not a field that a search may fix, or is given twice.
    """
    fixed: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not equals or not text:
            raise ValueError(say("{text!r} fixes nothing: write a field and its value, as in tensor=8", text=pair))
        _known(name)
        if name in fixed:
            raise ValueError(say("{name} is fixed twice", name=name))
        fixed[name] = field_value(Layout, name, text)
        if hints_of(Layout)[name] == Count:
            whole(name, fixed[name], 0 if name in CONSTANT else 1)
    return fixed


def _known(name: str) -> None:
    known = (*SEARCHED, *CONSTANT)
    if name in known:
        return
    if name in _ELSEWHERE:
        raise ValueError(say("{name} cannot be fixed: {why}", name=name, why=_ELSEWHERE[name]))
    near = offer(name, known, say(": those are {names}", names=", ".join(known)))
    raise ValueError(say("{name!r} is not a field that can be fixed{offer}", name=name, offer=near))

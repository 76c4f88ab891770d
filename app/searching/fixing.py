"""Fields of a layout that a search does not vary."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from app.formulas.checks import whole
from app.formulas.presets import Layout
from app.formulas.records import field_value, hints_of
from app.searching.space import CONSTANT, SEARCHED
from app.units import Count

_ELSEWHERE = {
    "sequence": "the tokens of a sequence are given beside the batch",
    "microbatches": "it follows from the batch; fix micro_batch or data",
    "name": "it is not searched",
    "source": "it is not searched",
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
            raise ValueError(f"{pair!r} fixes nothing: write a field and its value, as in tensor=8")
        _known(name)
        if name in fixed:
            raise ValueError(f"{name} is fixed twice")
        fixed[name] = field_value(Layout, name, text)
        if hints_of(Layout)[name] == Count:
            whole(name, fixed[name], 0 if name in CONSTANT else 1)
    return fixed


def _known(name: str) -> None:
    known = (*SEARCHED, *CONSTANT)
    if name in known:
        return
    if name in _ELSEWHERE:
        raise ValueError(f"{name} cannot be fixed: {_ELSEWHERE[name]}")
    closest = get_close_matches(name, known, n=1)
    offer = f"; did you mean {closest[0]!r}?" if closest else f": those are {', '.join(known)}"
    raise ValueError(f"{name!r} is not a field that can be fixed{offer}")

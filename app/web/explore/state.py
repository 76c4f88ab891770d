"""The state of an explorer: read from an address, and written into one."""

from collections.abc import Mapping

from app.errors import NotFoundError, nearest
from app.explorers import (
    EXPLORERS,
    Explored,
    Explorer,
    Values,
    address_text,
    read_controls,
    translate_explored,
)
from app.translation import localized, translate

LONGEST = 200  # characters of a value in a URL


def explorer_called(name: str) -> Explorer:
    """The explorer with the *name* in an address.

    Raises:
        NotFoundError: there is none; the message offers the nearest.
    """
    if name not in EXPLORERS:
        near = nearest(name[:80], EXPLORERS)
        raise NotFoundError(
            translate("no explorer is called {name!r}{near}", name=name[:80], near=near)
        )
    return EXPLORERS[name]


def control_values(explorer: Explorer, query: Mapping[str, str]) -> tuple[Values, tuple[str, ...]]:
    """The values of the controls in an address, and a sentence for each that was corrected."""
    given = {name: text[:LONGEST] for name, text in query.items()}
    values, corrections = read_controls(explorer.controls, given)
    return Values(values), corrections


def url_state(explorer: Explorer, values: Values) -> dict[str, str]:
    """The values of the controls as written in a URL."""
    return {c.name: address_text(c, values[c.name]) for c in explorer.controls}


def explored(explorer: Explorer, values: Values) -> tuple[Explored, str]:
    """The output of *explorer*, and why there is none if the values are not compatible."""
    try:
        return translate_explored(explorer.explore(values)), ""
    except ValueError as error:
        return Explored("", (), ()), localized(str(error))


def waits(explorer: Explorer, query: Mapping[str, str]) -> bool:
    """Whether a prediction comes first: on a URL without a state, or if the URL asks for it.

    A URL with a state is a shared link, which shows its result.
    """
    if "predict" in query or query.get("guess", "").strip():
        return True
    return "show" not in query and not any(c.name in query for c in explorer.controls)

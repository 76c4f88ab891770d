"""The state of an explorer: read from an address, and written into one."""

from collections.abc import Mapping

from app.core.errors import InputError, NotFoundError, nearest, sentence
from app.core.translation import localized, translate
from app.course.explorers import EXPLORERS, Explored, Explorer, Values, address_text, read_controls, translate_explored
from app.course.explorers.configured_states import configured_state
from app.course.explorers.controls import Select
from app.server.aside.child_process import read_apart

LONGEST = 400  # characters of a value in a URL
CONFIGURATION = "configuration"  # the field for a pasted one
CONFIGURATION_LONGEST = 4000  # characters that are read of it


def explorer_called(name: str) -> Explorer:
    """The explorer with the *name* in an address.

    Raises:
        NotFoundError: there is none; the message offers the nearest.
    """
    if name not in EXPLORERS:
        near = nearest(name[:80], EXPLORERS)
        raise NotFoundError(translate("no explorer is called {name!r}{near}", name=name[:80], near=near))
    return EXPLORERS[name]


def control_values(explorer: Explorer, query: Mapping[str, str]) -> tuple[Values, tuple[str, ...]]:
    """The values of the controls in an address, and a sentence for each that was corrected."""
    given = {name: text[:LONGEST] for name, text in query.items()}
    pasted = query.get(CONFIGURATION, "").strip() if takes_configurations(explorer) else ""
    configured, problem = _configured(explorer, pasted, given) if pasted else ({}, "")
    values, corrections = read_controls(explorer.controls, {**given, **configured})
    return Values(values), (*((problem,) if problem else ()), *corrections)


def takes_configurations(explorer: Explorer) -> bool:
    """Whether it has a model that may be one of the visitor's own."""
    return any(isinstance(one, Select) and one.own is not None for one in explorer.controls)


def _configured(explorer: Explorer, text: str, given: Mapping[str, str]) -> tuple[Mapping[str, str], str]:
    """What a pasted configuration says of the controls, or why it says nothing."""
    if len(text) > CONFIGURATION_LONGEST:
        form = translate("A pasted configuration has at most {most} characters.", most="4,000")
        return {}, form
    values, _ = read_controls(explorer.controls, given)
    try:
        return read_apart(configured_state, text, Values(values).count("gpus")), ""
    except ValueError as error:
        return {}, sentence(localized(str(error)))
    except InputError as error:  # it takes too much
        return {}, sentence(translate("the pasted configuration was not read: {problem}", problem=str(error)))


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
    named = {CONFIGURATION, "show", *(control.name for control in explorer.controls)}
    return not any(name in query for name in named)

"""Stands in for YAML of others in a browser, which has no reader of it."""

from collections.abc import Mapping

from app.core.translation import say


def values_of_yaml(text: str) -> Mapping[str, object]:
    """Nothing: it is refused.

    Raises:
        ValueError: always.
    """
    raise ValueError(say("YAML is read by the server alone: paste the arguments of the command, or a JSON"))

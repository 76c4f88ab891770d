"""In place of pydantic_core, in a browser."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

ErrorDetails = Mapping[str, Any]


def from_json(content: bytes, **_: object) -> Any:
    """The value in JSON.

    Raises:
        ValueError: it is not JSON, or has NaN or an infinity.
    """

    def refuse(word: str) -> NoReturn:
        raise ValueError(f"{word} is not a number")

    return json.loads(content, parse_constant=refuse)

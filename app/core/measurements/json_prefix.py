"""JSON that ends too early, read as far as it goes."""

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|["{}\[\],]', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_SPACE = " \t\r\n,"


@dataclass(frozen=True, slots=True)
class JsonPrefix:
    """The values of a text, one after the other, and the line from which on it is not JSON."""

    values: tuple[object, ...]
    ends_at: int = 0  # 0: all of it is JSON


def read_json(text: str) -> JsonPrefix:
    """The values in *text*; of one that is cut off, what is complete.

    Raises:
        RecursionError: it is nested too deeply.
        ValueError: it has a number of more digits than Python reads.
    """
    decoder, at, values = json.JSONDecoder(), 0, []
    while (at := _after_space(text, at)) < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if (rest := _completed(text[at : error.pos])) is not None:
                values.append(rest)
            return JsonPrefix(tuple(values), error.lineno)
        values.append(value)
    return JsonPrefix(tuple(values))


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _completed(text: str) -> object | None:
    """The value that *text* begins, without what is incomplete in it; None if nothing is left."""
    for end, open_ones in reversed(deque(_whole_until(text), maxlen=2)):
        closing = "".join(_CLOSING[one] for one in reversed(open_ones))
        try:
            found: object = json.loads(text[:end] + closing)
        except json.JSONDecodeError:
            continue
        return found
    return None


def _whole_until(text: str) -> Iterator[tuple[int, str]]:
    """Where all that is begun could end, and the brackets that are open there."""
    stack: list[str] = []
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign == '"':  # a string without its end
            return
        if sign in _CLOSING:
            stack.append(sign)
            yield token.end(), "".join(stack)
        elif sign in {"}", "]"} and stack:
            stack.pop()
            yield token.end(), "".join(stack)
        elif sign == "," and stack:
            yield token.start(), "".join(stack)

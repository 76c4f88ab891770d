"""All sentences of a compiled catalog: a .mo file of GNU gettext, of which Python gives one."""

import struct
from collections.abc import Iterator, Mapping

_LITTLE = b"\xde\x12\x04\x95"  # how a file begins whose numbers do
_COUNT = 8  # where the number of sentences is; the places of the two tables follow


def read_compiled(content: bytes) -> Mapping[str | tuple[str, int], str]:
    """Translations by the English sentence; of one that counts, by its singular and the form."""
    order = "<" if content.startswith(_LITTLE) else ">"
    count, *places = struct.unpack_from(f"{order}3I", content, _COUNT)
    tables = (_texts(content, f"{order}{2 * count}I", place) for place in places)
    said: dict[str | tuple[str, int], str] = {}
    for sentence, text in zip(*tables, strict=True):
        one, counts, _ = sentence.partition("\0")
        if counts:
            said |= {(one, form): each for form, each in enumerate(text.split("\0"))}
        else:
            said[one] = text
    return said


def _texts(content: bytes, table: str, place: int) -> Iterator[str]:
    """The texts of a *table* of lengths and places."""
    numbers = iter(struct.unpack_from(table, content, place))
    for length, start in zip(numbers, numbers, strict=True):
        yield content[start : start + length].decode()

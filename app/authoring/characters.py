"""Characters that no text needs, and that change what others look like."""

import unicodedata
from collections.abc import Iterator, Mapping

from app.kinds import Finding, Where

_USUAL = "\n\t"
_HIDDEN = "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u3164\ufeff\uffa0"


def prove_characters(values: object, where: Where = ()) -> Iterator[Finding]:
    """Control characters, and those that hide or turn others around, anywhere in *values*."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            yield from prove_characters(str(key), (*where, key))
            yield from prove_characters(value, (*where, key))
    elif isinstance(values, list):
        for index, value in enumerate(values):
            yield from prove_characters(value, (*where, index))
    elif isinstance(values, str):
        for character in sorted(set(filter(_is_hidden, values))):
            name = unicodedata.name(character, "a control character")
            says = f"contains U+{ord(character):04X} ({name.lower()}), which cannot be seen"
            yield Finding(where, says, "delete it; retype the word if you cannot find it")


def _is_hidden(character: str) -> bool:
    """Whether *character* is a control or a format character: NUL, bidi marks, zero width."""
    kind = unicodedata.category(character)
    return character in _HIDDEN or (kind in ("Cc", "Cf", "Co", "Cn") and character not in _USUAL)

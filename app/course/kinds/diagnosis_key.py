"""The key of a diagnosis, the same in every language.

That of an author's is a digest of its text, so that it survives a reorder of the file; a common one
has a name.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from hashlib import blake2s

from pydantic import BaseModel, PrivateAttr

from app.core.translation import localized
from app.course.kinds.answers import PartVerdict
from app.course.kinds.common_mistakes import common_wordings

_BYTES = 6
_REMEMBERED = 8_192


@lru_cache(_REMEMBERED)
def mistake_key(wording: str) -> str:
    """The key of a diagnosis with this *wording*, before any value is filled in.

    >>> mistake_key("Is a factor of {ranks} missing?")
    'cc4f9172394f'
    """
    return blake2s(wording.strip().encode(), digest_size=_BYTES).hexdigest()


def key_told(says: str, filled: Iterable[str], wordings: Iterable[str]) -> str:
    """The key of the one of *wordings* that, *filled* in, is what was said; else of a common one.

    Empty if it is not a known mistake, such as "70 ms is too large".
    """
    for told, wording in zip(filled, wordings, strict=True):
        if told == says:
            return mistake_key(wording)
    return _keys_of_common().get(says, "")


def first_mistake(parts: Iterable[PartVerdict]) -> str:
    """The key of the first mistake in *parts*."""
    return next((part.mistake for part in parts if part.mistake), "")


def common_diagnosis(key: str) -> str:
    """The sentence about a common mistake with that *key*; empty if there is none."""
    return localized(_common().get(key, ""))


class Worded(BaseModel):
    """What has texts in one language, made from an original in English."""

    _language: str = PrivateAttr("en")
    _kept_keys: dict[str, str] = PrivateAttr(default_factory=dict)  # by those of its wordings

    @property
    def language(self) -> str:
        """The language of its texts."""
        return self._language

    def translates(self, wordings: Mapping[str, str], language: str) -> None:
        """Note that its texts are in *language*; *wordings* has them by those of the original.

        Mistakes are stored under the keys that they have there.
        """
        self._language = language
        self._kept_keys.update({mistake_key(ours): mistake_key(its) for its, ours in wordings.items()})

    def untold(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Texts, by their place, that are filled with other values than drawn ones."""
        yield from ()

    def kept_key(self, key: str) -> str:
        """The *key* of a wording of this file, as it is stored: in every language the same."""
        return self._kept_keys.get(key, key)


@cache
def _common() -> dict[str, str]:
    return dict(common_wordings())


@cache
def _keys_of_common() -> dict[str, str]:
    return {says: key for key, says in common_wordings()}

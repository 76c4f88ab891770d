"""The language of an exercise's texts."""

from collections.abc import Iterator, Mapping

from pydantic import BaseModel, PrivateAttr

from app.kinds.diagnosis_key import mistake_key


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
        self._kept_keys.update(
            {mistake_key(ours): mistake_key(its) for its, ours in wordings.items()}
        )

    def untold(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Texts, by their place, that are filled with other values than drawn ones."""
        yield from ()

    def kept_key(self, key: str) -> str:
        """The *key* of a wording of this file, as it is stored: in every language the same."""
        return self._kept_keys.get(key, key)

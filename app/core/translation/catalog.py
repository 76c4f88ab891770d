"""The catalogs, read as translators edit them: .po files of GNU gettext.

A file of 3,500 sentences takes ten milliseconds, so nothing is compiled ahead.
"""

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_FORMS = ("msgstr[0]", "msgstr[1]")  # of a sentence that counts: for one, for any other number

_Entry = Mapping[str, str]


class SentenceCatalog(NamedTuple):
    """The sentences of one language.

    *said* has a sentence by the English one, and a form of it by its singular and the number of
    the form. *of_scripts* are those that scripts say.
    """

    said: Mapping[str | tuple[str, int], str]
    of_scripts: Mapping[str, str]

    def sentence(self, english: str) -> str | None:
        """The translation of *english*; none if there is none."""
        return self.said.get(english)

    def counted(self, one: str, number: int) -> str | None:
        """The form for *number* of the sentence whose singular is *one*; none if there is none."""
        return (number != 1 and self.said.get((one, 1))) or self.said.get((one, 0))


def read_catalog(text: str) -> SentenceCatalog:
    """The catalog in *text*, without the sentences that are not translated, or that are doubted."""
    said: dict[str | tuple[str, int], str] = {}
    of_scripts: dict[str, str] = {}
    for entry in _entries(text):
        english = _unquoted(entry.get("msgid", ""))
        if not english or "fuzzy" in entry.get("#,", ""):
            continue
        if "msgid_plural" in entry:
            said |= {(english, at): _unquoted(entry.get(form, "")) for at, form in enumerate(_FORMS)}
        elif translation := _unquoted(entry["msgstr"]):
            said[english] = translation
            if ".js" in entry.get("#:", ""):
                of_scripts[english] = translation
    return SentenceCatalog({key: text for key, text in said.items() if text}, of_scripts)


def _entries(text: str) -> Iterator[_Entry]:
    """The entries of *text*: what follows each keyword, and each sort of comment."""
    for block in text.split("\n\n"):
        entry: dict[str, str] = {}
        keyword = ""
        for line in block.split("\n"):
            if line.startswith('"'):
                entry[keyword] += line[1:-1]
                continue
            keyword, _, rest = line.partition(" ")
            comment = keyword.startswith("#")
            entry[keyword] = f"{entry.get(keyword, '')} {rest}" if comment else rest[1:-1]
        yield entry


def _unquoted(text: str) -> str:
    return str(json.loads(f'"{text}"')) if "\\" in text else text

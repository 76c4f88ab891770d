"""Published measurements as exercises show them: a text, where it is from, and what readers say.

`exhibits.json` beside the samples holds what the readers say, so that no exercise waits for a
reader. `python -m tools.exhibit_file` writes it, and a test compares the two.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.core.errors import nearest

FILE = Path(__file__).parent / "published" / "exhibits.json"
_AROUND = ("# Avg", "# Rank", "# ...")
_CUT = {"algbw", "mfu"}  # of files with these, not all is shown
_UP_TO_TIME = 19  # characters of a row


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """A published measurement: its text, and its quantities as value and base unit, by name."""

    address: str  # empty where it was made for an exercise
    hardware: str
    text: str
    quantities: Mapping[str, tuple[float, str]]

    @property
    def times(self) -> str:
        """Of a table, the rows without their bandwidths."""
        rows = (line for line in self.text.splitlines() if not line.startswith(_AROUND))
        return "\n".join(row[:_UP_TO_TIME].rstrip() for row in rows)

    def block(self, text: str) -> str:
        """*text*, which is all or a part of it, as Markdown with its source."""
        shown = text if text.startswith("|") else f"```text\n{text}\n```"
        less = ", some columns left out" if _CUT & set(self.quantities) else ""
        return f"{shown}\n\n*{self.hardware}{less}.{self._source}*"

    @property
    def _source(self) -> str:
        site = "/".join(self.address.removeprefix("https://").split("/")[:3])
        return f" Source: [{site}]({self.address})" if self.address else ""


@cache
def exhibits() -> Mapping[str, Exhibit]:
    """Every exhibit, by name."""
    found = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: Exhibit(
            address=one["address"],
            hardware=one["hardware"],
            text="\n".join(one["text"]),
            quantities={key: (value, unit) for key, (value, unit) in one["quantities"].items()},
        )
        for name, one in found.items()
    }


def exhibit_called(name: str) -> Exhibit:
    """The exhibit called *name*.

    Raises:
        ValueError: there is none; the message names the nearest.
    """
    if name not in exhibits():
        raise ValueError(f"no exhibit is called {name!r}{nearest(name, exhibits())}")
    return exhibits()[name]

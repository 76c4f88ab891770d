"""Printed tables, each with the paper or document that it was copied from."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table, by the names of its columns."""

    cells: Mapping[str, str | float | None]

    def text(self, column: str) -> str:
        """The cell as it is printed."""
        return str(self.cells[column])

    def number(self, column: str) -> float:
        """The cell as a number."""
        return float(self.text(column))

    def count(self, column: str) -> int:
        """The cell as a whole number."""
        return int(self.number(column))


def rows(name: str) -> list[Row]:
    """The rows of the table *name*."""
    table = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    columns = [column["name"] for column in table["columns"]]
    return [Row(dict(zip(columns, row, strict=True))) for row in table["rows"]]

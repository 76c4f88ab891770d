"""Printed tables, each with the paper or document that it was copied from."""

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of the table *name*, each by the names of its columns."""
    table = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    columns = [column["name"] for column in table["columns"]]
    return [dict(zip(columns, row, strict=True)) for row in table["rows"]]

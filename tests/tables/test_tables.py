import json
from pathlib import Path

import pytest

from tests.tables import HERE, rows


@pytest.mark.parametrize("path", sorted(HERE.glob("*.json")), ids=lambda path: path.stem)
def test_a_table_names_its_source_and_has_whole_rows(path: Path) -> None:
    table = json.loads(path.read_text(encoding="utf-8"))
    assert table["id"] == path.stem
    assert {"arxiv", "repo", "spec", "papers", "paper", "src"} & table["source"].keys()
    assert rows(path.stem)

import json
from pathlib import Path

from tests.each import each
from tests.tables import HERE, rows


@each("path", sorted(HERE.glob("*.json")), ids=lambda path: path.stem)
def test_a_table_names_its_source_and_has_whole_rows(path: Path) -> None:
    table = json.loads(path.read_text(encoding="utf-8"))
    assert table["id"] == path.stem
    assert {"arxiv", "repo", "spec", "papers", "paper", "src"} & table["source"].keys()
    assert rows(path.stem)

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from app.core.errors import ContentError, NotFoundError
from app.core.formulas import FORMULAS
from app.core.translation import speaking
from app.course.content import errata as reading
from app.course.content.catalog import Catalog
from app.course.content.errata import errata, errata_of, erratum_called, question_file, questions_of
from tests.each import each

# What is right, by the entry and the line of its derivation: checked by hand and by simulation.
RIGHT = {
    ("E-01", 1): "20 %", ("E-01", 3): "78.95 %", ("E-02", 0): "80 %", ("E-02", 1): "60 %",
    ("E-03", 0): "106.25 GB", ("E-03", 2): "80 GB", ("E-04", 1): "8 GB", ("E-05", 0): "5.882 %",
    ("E-06", 0): "21 s", ("E-06", 1): "21 s", ("E-07", 1): "7 s", ("E-07", 2): "6 s",
    ("E-08", 1): "117.44 MB", ("E-08", 4): "20.9 %", ("E-09", 1): "236.8 GB",
    ("E-10", 1): "$608.14", ("E-11", 2): "1.5", ("E-12", 1): "21.47 GB",
    ("E-14", 0): "341.4 TFLOP/s", ("E-14", 1): "342.6 TFLOP/s", ("E-15", 0): "58.3 ms",
    ("E-15", 2): "87.5 ms", ("E-15", 3): "116.7 ms", ("E-16", 2): "5", ("E-17", 1): "71", ("E-17", 2): "36",
    ("E-18", 1): "128", ("E-19", 0): "9", ("E-20", 2): "259 GB", ("E-21", 2): "3.188",
    ("E-21", 3): "405.85", ("E-23", 0): "50.1 %", ("E-23", 1): "78.4 d", ("E-23", 2): "34.5 %",
    ("E-23", 3): "1,215 years", ("E-24", 1): "163.8 ms", ("E-25", 1): "12.65 GB",
    ("E-25", 3): "380 ms", ("E-27", 1): "1,024 FLOP", ("E-28", 0): "450", ("E-30", 1): "1,365 FLOP/B",
    ("E-31", 1): "$1.48 million", ("E-32", 0): "810 GB", ("E-32", 2): "10.5",
    ("E-33", 1): "79.6 GiB", ("E-35", 2): "6.48 TB", ("E-35", 3): "1,624.7 GB", ("E-36", 0): "7.73 s",
    ("E-38", 0): "1.07", ("E-41", 1): "1.53 s", ("E-42", 0): "3.09 h", ("E-42", 2): "99 h",
    ("E-43", 1): "5.96e-8", ("E-44", 0): "1.221e-4", ("E-45", 2): "10.5 %", ("E-45", 3): "8", ("E-48", 0): "1,154,000",
    ("E-49", 0): "438,750", ("E-52", 1): "1.77 s", ("E-53", 1): "1", ("E-56", 2): "7.056 TB",
    ("E-63", 1): "$1.93 million", ("E-67", 2): "229,376", ("E-72", 1): "3.5",
    ("E-73", 0): "1.28", ("E-73", 2): "1.36", ("E-74", 0): "14.96 GiB", ("E-74", 2): "66.3",
    ("E-75", 1): "1.38", ("E-75", 4): "3", ("E-76", 0): "40.4 %", ("E-76", 2): "29,200 h", ("E-76", 3): "11,700 h",
    ("E-77", 0): "5", ("E-77", 1): "31", ("E-77", 2): "4", ("E-77", 3): "32", ("E-78", 1): "33 s",
    ("E-78", 2): "39 s", ("E-78", 3): "49 s", ("E-79", 1): "60.95 %", ("E-79", 2): "787.5 GB/s",
    ("E-80", 0): "50.1", ("E-80", 1): "92.6", ("E-80", 2): "18.4", ("E-81", 0): "0.744 %", ("E-81", 1): "95.2 %",
    ("E-82", 0): "19,780", ("E-82", 1): "2,472", ("E-83", 1): "73.8", ("E-84", 0): "5.29",
    ("E-84", 1): "24.5 %", ("E-85", 1): "6 h", ("E-85", 3): "5.56 %",
    ("E-86", 0): "42.9 %", ("E-86", 1): "30 %", ("E-87", 2): "33.4 GB", ("E-88", 1): "6,144", ("E-88", 3): "1,664",
    ("E-89", 0): "14", ("E-89", 2): "1.26 ms", ("E-90", 0): "1,465", ("E-90", 1): "2,564", ("E-91", 1): "3.57",
    ("E-92", 0): "11.9 s", ("E-92", 1): "13.9 %", ("E-93", 0): "80 ms", ("E-94", 0): "14.6", ("E-95", 1): "49",
    ("E-96", 2): "1.25 ms", ("E-97", 1): "573 ms", ("E-97", 2): "131 ms", ("E-98", 2): "56.9", ("E-99", 0): "2.043",
    ("E-99", 3): "2.001", ("E-100", 0): "12 %", ("E-100", 2): "96 %", ("E-101", 2): "402.5 ms", ("E-102", 1): "1.4 %",
    ("E-103", 0): "2,176", ("E-103", 1): "870", ("E-104", 1): "11.7 %", ("E-105", 1): "14", ("E-105", 2): "7",
    ("E-106", 1): "80 ms", ("E-107", 0): "77 %", ("E-107", 1): "17 %", ("E-108", 0): "15", ("E-109", 0): "33.3 %",
    ("E-109", 2): "71.4 %", ("E-110", 2): "1.15", ("E-111", 0): "6.25 %", ("E-111", 2): "1",
}  # fmt: skip


def test_every_severity_has_all_its_entries() -> None:
    counted = {severity: sum(e.severity == severity for e in errata()) for severity in "ABC"}
    assert counted == {"A": 36, "B": 51, "C": 20}
    assert len({e.id for e in errata()}) == 107


@each(("key", "value"), RIGHT.items(), ids=lambda item: str(item)[:14])
def test_a_derivation_gives_the_right_value(key: tuple[str, int], value: str) -> None:
    known = {e.id: e for e in errata()}
    assert known[key[0]].worked[key[1]].value == value


@each("erratum", errata(), ids=lambda e: e.id)
def test_an_erratum_is_complete(erratum: reading.Erratum) -> None:
    assert len(erratum.claim) > 20
    assert len(erratum.right) > 10 or erratum.id == "E-36"
    assert len(erratum.source) > 6
    assert 2 <= len(erratum.said) <= 40
    assert erratum.worked
    assert all(name in FORMULAS for row in erratum.worked for name in row.formulas)


def test_no_two_errata_are_said_in_the_same_words() -> None:
    assert len({erratum.said for erratum in errata()}) == len(errata())


def test_every_exercise_that_an_erratum_touches_exists(catalog: Catalog) -> None:
    touched = {name for erratum in errata() for name in erratum.exercises}
    assert touched <= set(catalog.by_id)


def test_an_exercise_knows_the_errata_that_touch_it() -> None:
    assert [e.id for e in errata_of("memory/which-layout-fits")] == ["E-03"]
    assert errata_of("memory/stage-1") == ()


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("The bytes memory.state_bytes(7e9)", "must have the form: description, colon"),
        ("Bytes: memory.state_byte(7e9) | GB", "did you mean 'memory.state_bytes'"),
        ("Bytes: memory.state_bytes(7e9) | s", "not in s"),
        ("Bytes: memory.state_bytes(-7) | GB", "parameters must be"),
    ],
)
def test_a_derivation_that_cannot_be_evaluated_is_reported_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str, says: str
) -> None:
    path = tmp_path / "answer_keys.yaml"
    text = f'E-99:\n  title: t\n  said: it\n  claim: c\n  right: r\n  worked:\n    - "{row}"\n  source: s\n'
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(reading, "_HERE", tmp_path)
    monkeypatch.setattr(reading, "_FILES", {"A": "answer_keys.yaml"})
    errata.cache_clear()
    with pytest.raises(ContentError) as refused:
        errata()
    errata.cache_clear()
    assert says in str(refused.value)
    assert ":7:" in str(refused.value)


# An audit hook cannot be taken off again, so it counts in an interpreter of its own.
OPENED = """
import json, sys
from app.course.content.errata import errata
from app.course.content.errata import terms
opened = []
sys.addaudithook(lambda event, given: event == "open" and opened.append(str(given[0])))
errata(), errata(), terms(), terms()
print(json.dumps([path for path in opened if path.endswith(".yaml")]))
"""


def test_each_file_is_read_once_however_many_entries_it_has() -> None:
    ran = subprocess.run([sys.executable, "-c", OPENED], capture_output=True, text=True, check=True, timeout=60)
    opened = Counter(Path(path).name for path in json.loads(ran.stdout))
    names = ("answer_keys.yaml", "claims.yaml", "conventions.yaml", "terms.yaml")
    assert opened == dict.fromkeys(names, 1)


def test_an_erratum_is_called_in_any_case_and_another_offers_the_nearest() -> None:
    assert erratum_called("e-03").id == erratum_called("E-03").id == "E-03"
    with pytest.raises(NotFoundError, match="no erratum is called 'e-9x'; did you mean 'E-9"):
        erratum_called("e-9x")
    with pytest.raises(NotFoundError) as caught:
        erratum_called("y" * 99)
    assert f"'{'y' * 40}'" in str(caught.value)


def test_the_most_severe_errata_come_first() -> None:
    severities = [one.severity for one in errata()]
    assert severities == sorted(severities)


@each(
    ("row", "says", "value", "formulas"),
    [
        ("Six: 2 * 3 |", "Six", "6", ()),
        ("A: b: 2 * 3 | .2f", "A", "", ()),
        ("Bytes: memory.state_bytes(1e9) | GB", "Bytes", "16 GB", ("memory.state_bytes",)),
        ("Twice: memory.state_bytes(1e9) + memory.state_bytes(1e9) | GB", "Twice", "32 GB", ("memory.state_bytes",)),
    ],
)
def test_a_line_of_a_derivation_is_evaluated(row: str, says: str, value: str, formulas: tuple[str, ...]) -> None:
    fields = {"title": "T", "said": "it", "claim": " c ", "right": "r", "source": "s", "id": "E-1", "severity": "A"}
    if not value:
        with pytest.raises(ValueError, match=r"b: 2|'b"):
            reading.Erratum.model_validate({**fields, "worked": [row]})
        return
    made = reading.Erratum.model_validate({**fields, "worked": [row]})
    (line,) = made.worked
    assert (line.says, line.value, line.formulas, made.claim) == (says, value, formulas, "c")


def test_a_page_is_asked_for_in_english_and_in_the_language_of_the_page() -> None:
    page = next(page for page, asked in question_file().pages.items() if {"en", "de", "zh"} <= set(asked))
    asked = question_file().pages[page]
    assert questions_of(page) == asked["en"]
    with speaking("de"):
        assert questions_of(page) == (*asked["en"], *asked["de"])
    assert questions_of("/nowhere") == ()

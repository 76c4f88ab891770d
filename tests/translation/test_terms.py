"""One term, one word: what the catalogs and the translated files of the course call things."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from app.core.folders import ROOT
from app.core.translation import LANGUAGES, SOURCE
from app.core.yaml_file import read_document
from app.course.content.catalog import Catalog
from tests.translations import read

THIN = "\N{NARROW NO-BREAK SPACE}"
# What must not be said, and what is said instead; an exception is a text around it.
NOT_GERMAN = {
    r"\b(?:Geben|Schreiben|Fügen|Wählen|Setzen|Senden|Verwenden|Nutzen|geben|schreiben) Sie\b": "an infinitive",
    r"\b(?:Ihre?[mnrs]?|deine?[mnrs]?|du|dir|dich)\b(?<!Ihr)(?=.*\bSie\b)": "neither Sie nor du",
    r"\bRäng(?:e|en)?\b": "Rank",
    r"\bMikro-?[Bb]atch": "Microbatch",
    r"\bPipeline-?[Bb]lasen?\b": "Bubble",
    r"\bZeitplan\b": "Ablaufplan",
    r"\bÜbung(?:en)?\b(?! für)(?=.*Kapitel.*gelöst)": "Aufgabe",
    r"\bVorwärts(?:durchlauf|pass)\b(?=.*Backward)": "Forward-Durchlauf",
    r"(?<![\w.,:/-])\d{1,3}(?:,\d{3})+(?![\d,])(?= (?:GPUs?|Tokens|Sequenzen|Ranks|H100|FLOP|Byte))": "a narrow space",
    r"(?<![\w.,:/-])\d+\.\d+(?= (?:%|GB|MB|TB|ms|µs|Mrd|Mio|Billionen|Milliarden|Millionen|TFLOP))": "a decimal comma",
}
NOT_CHINESE = {
    r"您": "你, or no subject",
    r"(?<!主机)(?<!锁页)(?<!系统)内存(?=.*(?:GPU|激活|权重|梯度|优化器|ZeRO|H100))": "显存",
    r"[一-龥][:;!?](?= |$|[一-龥])": "全角 signs",
    r"[一-龥],(?= ?[一-龥])": "，",
    r"[一-龥]\.$": "。",
    r"泡沫": "气泡",
    r"微批": "microbatch",
}
RULES = {"de": NOT_GERMAN, "zh": NOT_CHINESE}
_CODE = re.compile(r"<code>.*?</code>|\w+\([^()]*\)|`[^`]*`")
HOST = re.compile("拷贝内存|主机内存|锁页内存|pinned|pageable|从内存|内存拷贝")
# The parts of the course that are whole in every language: all of the paths of their chapters.
WHOLE = (
    "collectives",
    "memory",
    "accumulation",
    "overlap",
    "hardware",
    "kernels",
    "precision",
    "attention",
    "testtime",
)


def _catalog(code: str) -> Iterator[tuple[str, str]]:
    for message in read(code):
        forms = message.string if isinstance(message.string, (list, tuple)) else [message.string]
        for form in forms:
            if message.id and form:
                yield f"{code}.po", _CODE.sub(" ", str(form))


def _files(code: str) -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "exercises").rglob(f"*.{code}.yaml")):
        for line in _lines(read_document(path).values):
            text = re.sub(r"\$[^$]*\$|`[^`]*`|\{[^{}]*\}", " ", line)
            yield str(path.relative_to(ROOT)), text.strip()


def _lines(values: object) -> Iterator[str]:
    """The lines of the texts in *values*, without the keys, which are expressions."""
    if isinstance(values, Mapping):
        values = list(values.values())
    if isinstance(values, list):
        for value in values:
            yield from _lines(value)
    else:
        yield from str(values).splitlines()


def wrong(code: str, text: str) -> list[str]:
    """What is wrong with the words of *text*."""
    if code == "zh":
        text = HOST.sub("", text)
    return [cure for pattern, cure in RULES[code].items() if re.search(pattern, text)]


@pytest.mark.parametrize("code", sorted(RULES))
def test_terms_are_used_alike(code: str) -> None:
    texts = [*_catalog(code), *_files(code)]
    assert len(texts) > 4_000
    found = [f"{where}: {text[:90]} ({said})" for where, text in texts for said in wrong(code, text)]
    assert found == []


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("de", "Schreiben Sie die Zahl"),
        ("de", "auf 16,384 GPUs"),
        ("de", "bleiben 3.07 GB frei"),
        ("de", "die Ränge einer Gruppe"),
        ("zh", "您的答案"),
        ("zh", "GPU 上的内存不够"),
        ("zh", "继续: 时间"),
        ("zh", "梯度, 权重"),
    ],
)
def test_a_word_of_another_kind_is_found(code: str, text: str) -> None:
    assert wrong(code, text if code == "de" else f"{text}（GPU）")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("de", f"Auf 16{THIN}384 GPUs bleiben 3,07 GB frei"),
        ("de", "Llama 3.1 405B"),
        ("zh", "主机内存与 GPU 之间"),
        ("zh", "继续：时间"),
    ],
)
def test_a_usual_word_is_not(code: str, text: str) -> None:
    assert not wrong(code, text)


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != SOURCE])
@pytest.mark.parametrize("chapter", WHOLE)
def test_a_language_that_is_offered_has_the_first_parts_whole(catalog: Catalog, code: str, chapter: str) -> None:
    topic = catalog.spoken(code).topic(chapter)
    assert topic.language == code
    assert [one.id for one in topic.path if one.language != code] == []
    assert topic.path


def test_every_translated_file_is_there_in_both_languages() -> None:
    path = Path(ROOT / "exercises")
    assert len([*path.rglob("*.de.yaml")]) == len([*path.rglob("*.zh.yaml")])

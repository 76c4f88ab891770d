"""Numbers in the form of the language: 3,07 GB in German, and what a German types is read so."""

import asyncio
import json
import re

import pytest
from fastapi.testclient import TestClient

from app.core.errors import AnswerError
from app.core.translation import Numeral, localize, say, speaking, translate, unit_word
from app.core.units import (
    BYTE,
    COUNT,
    DOLLAR,
    DOLLAR_PER_SECOND,
    SECOND,
    figures,
    read,
    scale_of,
    show,
    show_in,
    show_typed,
)
from app.course.content.catalog import Catalog
from app.course.explorers import EXPLORERS
from app.course.explorers.runs import bill_drawing
from app.course.kinds.numeric import refuse_unclear
from app.site.markdown import html
from tests.each import each
from tests.pages import PAGES
from tests.translation.test_told import Reader

THIN = "\N{NARROW NO-BREAK SPACE}"
# A point before decimals, or a comma before groups, neither of which is German.
ENGLISH = re.compile(r"(?<![\w.,/:-])\d+(?:,\d{3}){2,}|(?<![\w.,/:-])\d+\.\d+(?=\s?[%×A-Zµkmns]|$)")
GERMAN = re.compile(rf"\d{THIN}\d{{3}}|(?<![\d,])\d+,(?!\d{{3}}(?!\d))\d")
NAMES = re.compile(
    r"(?:Llama|LTI|arXiv|torch|Version|section|sections|Qwen|Gen|Trace\w+|GPT|DeepSeek-V|Megatron-LM|image|NeMo|CC BY"
    r"|release|Release)[- :]*[\d.]+(?: and [\d.]+)*|[\d.]+B\b|[\d.]+ and [\d.]+"
)
DE = {"Accept-Language": "de"}


@each(
    ("english", "german"),
    [
        (show(3.07e9, BYTE), "3,07 GB"),
        (show(16384, COUNT), f"16{THIN}384"),
        (show(2.5 / 3600, DOLLAR_PER_SECOND), "2,50 $/h"),
        (show(61_660_000, DOLLAR), "61,66 Mio. $"),
        (show(1234.5, DOLLAR), f"1{THIN}234 $" if show(1234.5, DOLLAR) == "$1,234" else None),
        (show(-0.07, SECOND), "-70 ms"),
        (show(200.5 * 86400, SECOND), "200,5 Tage"),
        (figures(3.79e25), "3,79e25"),
        (figures(1e300 * 1e300), "∞"),
        (show_typed("8000.5 GB/s"), f"8{THIN}000,5 GB/s"),
        (show_typed("Llama 3.1 405B"), "Llama 3.1 405B"),
        (show_in(26_120_000 * 3600, scale_of("GPU-hours")), f"26{THIN}120{THIN}000 GPU-Stunden"),
    ],
)
def test_a_number_is_written_as_the_language_writes_it(english: str, german: str | None) -> None:
    with speaking("de"):
        found = localize(english)
        assert german is None or found == german
        assert translate("{value}", value=english) == found
        if isinstance(english, Numeral):
            assert english.__html__() == f"{english}" == "" + english == english + "" == found
    with speaking("zh"):
        assert "," not in english or THIN not in localize(english)  # as in English
    assert localize(english) == english


@each(
    ("value", "unit", "german"),
    [
        (914_000, "$", f"914{THIN}000 $"),
        (1_234, "$", f"1{THIN}234 $"),
        (0.5, "$", "0,50 $"),
        (-5_000, "$", f"-5{THIN}000 $"),
        (61_660_000, "$", "61,66 Mio. $"),
        (2, "$/h", f"7{THIN}200 $/h"),
        (5e-8, "$/kWh", "0,18 $/kWh"),
        (7, "$/J", "7 $/J"),
        (200.5 * 86400, "days", "200,5 Tage"),
        (16384, "GPUs", f"16{THIN}384 GPUs"),
        (8030, "GB/s", ""),
    ],
)
def test_a_number_is_the_same_whatever_is_spoken_when_it_is_shown(value: float, unit: str, german: str) -> None:
    english = show_in(value, scale_of(unit))
    with speaking("de"):
        shown = show_in(value, scale_of(unit))
        assert shown == english
        assert localize(shown) == localize(english)
        assert not german or localize(shown) == german


def test_the_description_of_the_bill_is_in_the_language() -> None:
    with speaking("de"):
        bill = bill_drawing(("Lauf", 6e24), gpus=1000, used=0.4, time=66.4 * 86400, price=2.0, power=(700.0, 5.0))
        described = bill.summary
    assert described == (
        f"Lauf: 6e24 FLOP, 1{THIN}000 GPUs bei 40 %: 66,4 Tage, GPU-Stunden: 1{THIN}594{THIN}000, Miete zu 2 $ pro Stunde: "
        f"3,19 Mio. $, Energie bei 700 W: 1,12 GWh, Davon Strom bei 5 ¢/kWh: 55{THIN}800 $"
    )


@each(
    ("english", "german", "chinese"),
    [
        (show_in(30e9, scale_of("billion")), "30 Milliarden", "300 亿"),
        (show_in(8.03e9, scale_of("billion")), "8,03 Milliarden", "80.3 亿"),
        (show_in(2.5e6, scale_of("million")), "2,5 Millionen", "250 万"),
        (show_in(15.6e12, scale_of("trillion")), "15,6 Billionen", "15.6 万亿"),
        (show(61_660_000, DOLLAR), "61,66 Mio. $", "6,166 万美元"),
    ],
)
def test_large_numbers_are_counted_as_the_language_counts(english: str, german: str, chinese: str) -> None:
    for code, expected in (("de", german), ("zh", chinese)):
        with speaking(code):
            assert localize(english) == expected
            if "$" not in english:
                assert read(expected, COUNT).value == read(english, COUNT).value
            assert "亿" not in unit_word("billion").replace("十亿", "")


def test_a_drawn_number_of_parameters_is_in_the_language(catalog: Catalog) -> None:
    for code, expected in (("de", "30 Milliarden Parametern"), ("zh", "300 亿 个参数")):
        with speaking(code):
            prompt = catalog.spoken(code).exercise("memory/which-layout-fits").variant(0).prompt
            assert expected in prompt
            assert "billion" not in prompt


@each(
    ("text", "shown"),
    [
        ("只读\n一次，\n所以 **FP32**。", "<p>只读一次，所以 <strong>FP32</strong>。</p>\n"),
        ("共 300 亿 个参数。 8 块 GPU", "<p>共 300 亿个参数。8 块 GPU</p>\n"),
        ("Bytes\nund Bits", "<p>Bytes\nund Bits</p>\n"),
        ("如下：\n- 甲\n- 乙", "<p>如下：</p>\n<ul>\n<li>甲</li>\n<li>乙</li>\n</ul>\n"),
    ],
)
def test_the_end_of_a_line_is_no_space_in_chinese(text: str, shown: str) -> None:
    assert html(text) == shown


def test_a_sentence_that_is_stored_has_english_numbers() -> None:
    with speaking("de"):
        said = say("{size} of {count:,}", size=show(3.07e9, BYTE), count=4096)
        assert said == "3.07 GB of 4,096"
        assert json.dumps([show(0.0393, SECOND)]) == '["39.3 ms"]'
        assert translate("{ranks:,} ranks in a ring", ranks=4096) == f"4{THIN}096 Ranks in einem Ring"


@each("value", [0.07, 1234.5, 4096.0, 1.234e6, 26_120_000.0, 0.00012345, 999.96, 3.79e25])
def test_what_is_shown_in_german_can_be_typed_back(value: float) -> None:
    with speaking("de"):
        text = localize(figures(value))
        assert read(text, COUNT).value == pytest.approx(value, rel=1e-3)
        assert read(localize(show(value, BYTE)), BYTE).value == pytest.approx(value, rel=1e-3)


@each("text", ["112.000 MB", "1.750", "2 * 112.000 MB", "~ 3.500 GB"])
def test_a_point_before_three_digits_is_asked_about_on_a_german_page(text: str) -> None:
    with speaking("de"), pytest.raises(AnswerError):
        refuse_unclear(text)
    refuse_unclear(text)


@each("text", ["0.750", "1.75", "112,5 MB", "1.234.567", "112 000 MB", "1.5e3", "1.000e3", "1.2345"])
def test_what_can_be_read_in_one_way_is_not_asked_about(text: str) -> None:
    with speaking("de"):
        refuse_unclear(text)


def test_a_german_number_is_never_misdiagnosed(catalog: Catalog) -> None:
    exercise = catalog.exercise("collectives/ring-all-reduce-time")
    right = exercise.right_answer(0)
    number, unit = str(right).split()
    grouped = f"{1000 * float(number):,.0f}".replace(",", ".")
    smaller = {"s": "ms", "ms": "us"}[unit]
    with speaking("de"):
        for typed in (f"{grouped} {smaller}", f"{float(number):.3f} {unit}".replace(".", ",")):
            try:
                verdict = asyncio.run(exercise.grade(0, typed, None))  # type: ignore[arg-type]
            except AnswerError as error:
                assert "." in typed
                assert THIN in str(error) or "," in str(error)
            else:
                assert verdict.correct, (typed, verdict.feedback)


def _read(page: str) -> list[str]:
    reader = Reader()
    reader.feed(page)
    return reader.said


@each("path", [*PAGES.values(), *(f"/explore/{name}?show=1" for name in EXPLORERS)])
def test_a_page_has_the_numbers_of_its_language(client: TestClient, path: str) -> None:
    """The German page is drawn first, so that what is remembered of it would be seen."""
    page = client.get(path, headers=DE)
    if "html" not in page.headers.get("content-type", "") or page.headers.get("content-language") != "de":
        return
    wrong = [text for text in _read(page.text) if ENGLISH.search(NAMES.sub("", text))]
    english = client.get(path, headers={"Accept-Language": "en"})
    assert [text for text in _read(english.text) if GERMAN.search(text)] == []
    assert [text[:100] for text in wrong] == []

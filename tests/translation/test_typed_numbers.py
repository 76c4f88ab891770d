"""Every field reads a typed number as its writer means it on that page, or asks which it is."""

import json
import subprocess
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from app.classes.pages.assignment_form import read_points
from app.core.errors import InputError
from app.core.expressions import worked_pad
from app.core.folders import ROOT
from app.core.formulas import FORMULAS, Formula
from app.core.formulas.presets import Cluster
from app.core.translation import LANGUAGES, Numeral, speaking, translate
from app.core.units import clear_text, in_english, list_in_english
from app.course.content.catalog import Catalog
from app.course.explorers import EXPLORERS
from app.course.explorers.controls import Slider, address_text
from app.course.kinds.design import Knob
from app.labs.spec import Lab, Parameter, known_labs, read_job
from app.site.web.labs.predictions import read_run_prediction, read_typed_parameter
from app.site.web.reference.formulas import formula_page
from tests.each import each

UNCLEAR = ("112.000", "1.234")
ASKS = "{number!r} may be {large} or {small}: write one of these"
SLIDERS = [control for explorer in EXPLORERS.values() for control in explorer.controls if isinstance(control, Slider)]


def question(text: str) -> str:
    """What every field asks about *text*, in the current language."""
    number = float(text)
    large, small = Numeral(f"{1000 * number:,.0f}"), Numeral(f"{number:g}")
    return translate(ASKS, number=text, large=large, small=small)


@each("code", LANGUAGES)
def test_every_slider_asks_about_a_number_that_may_be_two(code: str) -> None:
    with speaking(code):
        for slider in SLIDERS:
            for text in UNCLEAR:
                value, says = slider.read(text)
                asked = code == "de" or slider.whole
                assert (question(text) in says) == asked, slider.name
                if asked:
                    assert value == slider.default * slider.scale.factor
                says = slider.read(f"{text} {slider.unit or 'x'}")[1]
                assert (question(text) in says) == (code == "de"), slider.name


@each("code", LANGUAGES)
def test_a_slider_reads_the_numbers_that_its_page_writes(code: str) -> None:
    with speaking(code):
        for slider in SLIDERS:
            for share in (0, 0.1234567, 0.5, 0.987654, 1):
                number = slider.low + share * (slider.high - slider.low)
                typed = f"{number:.0f}" if slider.whole else f"{number:.4g}"
                value, says = slider.read(f"{Numeral(typed)}")
                assert says == "", slider.name
                written = address_text(slider, value)
                again, says = slider.read(written)
                assert again == pytest.approx(value, rel=1e-5)
                assert says == ""
                assert slider.read(f"{Numeral(written)}")[0] == pytest.approx(value, rel=1e-5)


@each(("text", "english", "german"), [("1,5", 1.5, 1.5), ("0,125", 0.125, 0.125), ("1.5", 1.5, 1.5)])
def test_a_decimal_comma_is_no_group(text: str, english: float, german: float) -> None:
    slider = Slider(name="a", label="A", ends=(0, 2000), default=7, whole=False)
    assert slider.read(text) == (english, "")
    with speaking("de"):
        assert slider.read(text) == (german, "")
        assert slider.read("1,234") == (1.234, "")
    assert slider.read("1,234") == (1234, "")


@each("name", EXPLORERS)
def test_the_page_of_an_explorer_asks(client: TestClient, name: str) -> None:
    slider = next((c for c in EXPLORERS[name].controls if isinstance(c, Slider)), None)
    if slider is None:
        return
    page = client.get(f"/explore/{name}", params={slider.name: "112.000"}, headers={"Accept-Language": "de"})
    if not EXPLORERS[name].part_of:
        assert "kann 112\N{NARROW NO-BREAK SPACE}000 " in page.text


def numbers_of(formula: Formula) -> Iterator[str]:
    """The arguments of *formula* that are numbers, or records with numbers in them."""
    return (name for name, taken in formula.inputs.items() if not taken.choices)


@each("code", LANGUAGES)
def test_every_field_of_a_calculator_asks(code: str, catalog: Catalog) -> None:
    with speaking(code):
        for formula in FORMULAS.values():
            for name in numbers_of(formula):
                unit = formula.inputs[name].unit
                others = dict.fromkeys(formula.missing({name: ""}), "2")
                page = formula_page(catalog, formula, {name: "112.000", **others})
                asked = code == "de" or (unit is not None and unit.whole)
                assert (question("112.000") in page.problem) == asked, (formula.name, name)


def test_a_list_of_a_calculator_has_the_commas_of_its_page(catalog: Catalog) -> None:
    with speaking("de"):
        assert list_in_english("0,5, 1,25; 3") == "0.5, 1.25, 3"
        assert list_in_english("0,5 1,25") == "0.5 1.25"
        assert list_in_english("1,2,4,8") == "1,2,4,8"
        assert list_in_english("64,128", whole=True) == "64,128"
        assert list_in_english("16KiB..256MiB") == "16KiB..256MiB"
        for text in ("0,5", "1.000 2.000", "4, 1.000"):
            with pytest.raises(ValueError, match="may be"):
                list_in_english(text)
    assert list_in_english("1,2,4.5") == "1,2,4.5"
    with pytest.raises(ValueError, match="may be"):
        list_in_english("64, 16.384", whole=True)


def parameters() -> Iterator[tuple[Lab, str, Parameter]]:
    for lab in known_labs().values():
        for name, one in lab.parameters.items():
            if not one.one_of:
                yield lab, name, one


@each("code", LANGUAGES)
def test_every_field_of_a_lab_asks(code: str) -> None:
    with speaking(code):
        for lab, name, one in parameters():
            for text in UNCLEAR if code == "de" or one.whole else ():
                with pytest.raises(InputError) as refused:
                    read_typed_parameter(lab, name, text)
                assert question(text) in str(refused.value), (lab.name, name)
        for name in ("ranks", "nodes"):
            with pytest.raises(InputError):
                read_typed_parameter(known_labs()["all-reduce"], name, "1.024")


@each("code", LANGUAGES)
def test_a_lab_starts_with_what_its_form_reads(code: str) -> None:
    with speaking(code):
        for lab, name, one in parameters():
            shown = str(one.start) if one.several else f"{Numeral(str(one.start))}"
            text = read_typed_parameter(lab, name, shown)
            assert one.read(name, text) == one.read(name, str(one.start)), (lab.name, name)


def test_what_is_stored_of_a_run_is_read_alike_in_every_language() -> None:
    lab = known_labs()["all-reduce"]
    typed = {"de": "1.234,5 KiB; 4,125 MiB", "en": "1234.5 KiB, 4.1250 MiB"}
    found = set()
    for code, text in typed.items():
        with speaking(code):
            stored = read_typed_parameter(lab, "sizes", text)
        for other in LANGUAGES:
            with speaking(other):
                found.add(read_job(lab, {"sizes": stored}).values["sizes"])
    assert found == {(1234.5 * 1024, 4.125 * 2**20)}


def test_a_prediction_for_a_run_is_asked_about() -> None:
    lab = known_labs()["all-reduce"]
    measure = lab.asked_of(lab.starts)
    unit = lab.measures[measure].unit
    with speaking("de"), pytest.raises(InputError) as refused:
        read_run_prediction(lab, measure, f"112.000 {unit}")
    with speaking("de"):
        assert question("112.000") in str(refused.value)
    assert read_run_prediction(lab, measure, f"112.000 {unit}") is not None


def test_the_scratch_pad_asks() -> None:
    (line,) = worked_pad("2 * 1.500 GB")
    assert line.result == "3 GB"
    with speaking("de"):
        (line,) = worked_pad("2 * 1.500 GB")
        assert question("1.500") == line.problem
        assert [one.result for one in worked_pad("2 * 1,500 GB\n2 * 1.5 GB")] == ["3 GB", "3 GB"]


def test_a_choice_is_not_another_one_without_its_comma() -> None:
    knob = Knob.model_validate({"says": "Size", "among": ["15 GB", "1.5 GB", "1500 GB"]})
    with speaking("de"):
        assert [knob.place(text) for text in ("15 GB", "1,5 GB", "1500 GB")] == [0, 1, 2]
        assert knob.place("1.500 GB") is None
    assert [knob.place(text) for text in ("1,5 GB", "1,500 GB")] == [1, 2]


@each("path", ["/measured", "/measured/traces"])
def test_the_fields_beside_a_file_ask(client: TestClient, path: str) -> None:
    fields = {"text": "hello", "model": "layers=40 hidden=4.096"}
    page = client.post(path, data=fields, headers={"Accept-Language": "de"})
    assert page.status_code == 422
    assert "kann 4\N{NARROW NO-BREAK SPACE}096 " in page.text
    assert "write one of these" not in client.post(path, data=fields).text


def test_a_record_is_read_in_the_language_of_its_page() -> None:
    text = f"{next(iter(Cluster.known()))} oversubscription=1,750"
    assert Cluster.read(text).oversubscription == 1750
    with speaking("de"):
        assert Cluster.read(text).oversubscription == 1.75


@each("text", ["1.125 GB", "112.000", "$1.125/h", "12.3456", "0.125", "1.5e3", "1,125"])
def test_what_an_address_says_is_read_alike_on_every_page(text: str) -> None:
    with speaking("de"):
        assert float(in_english(clear_text("1.125"))) == 1.125
        in_english(clear_text(text))
        assert in_english(in_english(text.replace(".", ","))) == in_english(text.replace(".", ","))


TYPED = ["12", "1,5", "1.5", "1.234", "112.000", "1,234", "1.234.567", "1,234,567", "1.234,5", "16 384", "0.125"]


@pytest.mark.needs("node")
@each("code", LANGUAGES)
def test_scripts_read_what_the_server_reads(code: str) -> None:
    script = (
        f"globalThis.document = {{ documentElement: {{ lang: '{code}' }} }};"
        f"const n = await import('{ROOT / 'static/numerals.js'}');"
        f"console.log(JSON.stringify({json.dumps(TYPED)}.map((t) => n.readNumber(t))));"
        "console.log(n.spelled(1.25));"
    )
    command = ["node", "--input-type=module", "-e", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    numbers, spelled = done.stdout.splitlines()
    slider = Slider(name="a", label="A", ends=(0, 1e9), default=7, whole=False)
    with speaking(code):
        found = [slider.read(text) for text in TYPED]
        assert json.loads(numbers) == [None if says else value for value, says in found]
        assert spelled == f"{Numeral('1.25')}"


def test_points_are_read_in_the_language_of_the_page() -> None:
    assert read_points(" ") is None
    assert read_points("1,000") == 1000
    with speaking("de"):
        assert read_points("2,5") == read_points("2.5") == 2.5
        with pytest.raises(InputError) as asked:
            read_points("1.000")
        assert str(asked.value) == question("1.000")

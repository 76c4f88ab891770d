import inspect
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core import formulas
from app.core.expressions import Quantity, evaluate, parse_expression
from app.core.folders import ROOT
from app.core.formulas import FORMULAS, MODULES, Argument, Formula, FormulaResult
from app.core.formulas.records import hints_of
from app.core.units import Unit
from tests.each import each
from tests.formulas.samples import HUGE, LEGAL, as_text, illegal, legal

TESTS = "\n".join(path.read_text("utf-8") for path in Path(__file__).parent.rglob("test_*.py"))
SECTIONS = ("Convention:", "Args:", "Raises:", "Source:")
DEFINITION = re.compile(r"^    (?P<name>[A-Za-z]\w*) = (?P<text>.+)$")

every_formula = each("formula", FORMULAS.values(), ids=FORMULAS.keys())


def definitions(formula: Formula) -> list[tuple[str, str]]:
    """The lines of mathematics in the docstring: a name, and what it is."""
    derivation = formula.doc.partition("\nConvention:")[0].partition("\nArgs:")[0]
    found = map(DEFINITION.match, derivation.splitlines())
    return [(match["name"], match["text"]) for match in found if match]


def values(result: FormulaResult) -> tuple[float, ...]:
    found = result if isinstance(result, tuple) else (result,)
    return tuple(value for value in found if not isinstance(value, str))


def symbols(formula: Formula) -> set[str]:
    """What its lines may name: its arguments, the fields of its records, and its own results."""
    records = [argument.record for argument in formula.inputs.values() if argument.record]
    fields = {field for record in records for field in hints_of(record)}
    return {*formula.inputs, *fields, *(name for name, _ in definitions(formula))}


def quantities(formula: Formula, given: dict[str, Any]) -> dict[str, Quantity]:
    """The numbers among the arguments, and among the figures of its records."""
    found = {
        name: Quantity(float(given[name]) * argument.unit.size, argument.unit.dimension)
        for name, argument in formula.inputs.items()
        if argument.unit and not argument.many
    }
    for name, argument in formula.inputs.items():
        for field, hint in hints_of(argument.record).items() if argument.record else ():
            for unit in (n for n in getattr(hint, "__metadata__", ()) if isinstance(n, Unit)):
                found[field] = Quantity(float(getattr(given[name], field)), unit.dimension)
    return found


NEW = '''
from app.core.units import Bytes, Count

def halved(size: Bytes, parts: Count = 2) -> Bytes:
    """Bytes of one of some equal parts of an array."""
    return _divided(size, parts)

def _divided(size: Bytes, parts: Count) -> Bytes:
    return size / parts

def refuse(parts: Count) -> None:
    """A check is no formula."""
'''
LIST = """
from app.core.formulas import FORMULAS, formula_value, lookup
print(*FORMULAS, formula_value(lookup("memory.halved"), {"size": "4 MB"}))
"""


def test_to_write_a_function_is_all_it_takes(tmp_path: Path) -> None:
    for room in ("formulas", "translation", "units"):
        shutil.copytree(ROOT / "app" / "core" / room, tmp_path / "app" / "core" / room)
    shutil.copy(ROOT / "app" / "core" / "quotation.py", tmp_path / "app" / "core")
    (tmp_path / "app" / "__init__.py").touch()
    (tmp_path / "app" / "core" / "__init__.py").touch()
    (tmp_path / "app" / "core" / "formulas" / "memory" / "new.py").write_text(NEW, encoding="utf-8")
    ran = subprocess.run([sys.executable, "-c", LIST], cwd=tmp_path, capture_output=True, text=True, check=True)
    *names, value = ran.stdout.split()
    assert set(names) == {*FORMULAS, "memory.halved"}
    assert float(value) == 2e6


def test_every_module_of_formulas_is_listed() -> None:
    found = {one.name for one in iter_modules(formulas.__path__)}
    listed = {module.__name__.rpartition(".")[2] for module in MODULES}
    assert found - listed == {"checks", "configurations", "parallelism", "presets", "records", "step"}


def unlike(holds: Callable[[Formula], bool]) -> list[str]:
    """The formulas for which it does not hold."""
    return [name for name, formula in FORMULAS.items() if not holds(formula)]


def test_its_first_line_says_what_comes_back() -> None:
    def holds(formula: Formula) -> bool:
        first, blank, *_ = formula.doc.splitlines()
        return first.endswith(".") and first[0].isupper() and not blank

    assert unlike(holds) == []


def test_its_sections_are_in_order() -> None:
    def holds(formula: Formula) -> bool:
        found = [line for line in formula.doc.splitlines() if line in SECTIONS]
        in_order = found == [section for section in SECTIONS if section in found]
        needed = {"Args:", "Raises:", "Source:"} if formula.inputs else {"Source:"}
        return in_order and needed <= set(found)

    assert unlike(holds) == []


def test_it_describes_every_argument_and_no_other() -> None:
    def holds(formula: Formula) -> bool:
        arguments = formula.doc.partition("\nArgs:")[2].partition("\nRaises:")[0]
        return re.findall(r"^    (\w+): \S", arguments, re.MULTILINE) == list(formula.inputs)

    assert unlike(holds) == []


def test_it_has_a_test_that_bears_its_name() -> None:
    names = set(re.findall(r"def (test_\w+)", TESTS))
    said = "\n".join(f"_{name.removeprefix('test_')}" for name in names)
    assert unlike(lambda formula: f"_{formula.function.__name__}_" in said) == []


def test_its_formula_is_mathematics_that_can_be_read() -> None:
    for formula in FORMULAS.values():
        known = symbols(formula)
        assert definitions(formula), formula.name
        for _, text in definitions(formula):
            assert parse_expression(text, known), formula.name


# Formulas whose lines leave a letter to the prose, or differ by case.
NEEDS_PROSE = {
    "batching.cosine_rate",
    "collectives.bus_bandwidth",
    "faults.exact_interval",
    "faults.spare_nodes",
    "layout.fits",
    "layout.projected_utilization",
    "layout.step_time",
    "layout.step_time_range",
    "layout.total_step_time",
    "memory.activation_bytes",
    "memory.layer_activation_bytes",
    "memory.card_memory",
    "memory.memory_budget",
    "memory.stage_memory",
    "memory.zero_accumulated_traffic_bytes",
    "memory.zero_largest_model",
    "memory.zero_redundant_bytes",
    "memory.zero_smallest_ranks",
    "memory.zero_state_bytes",
    "memory.zero_traffic_bytes",
    "optimizers.newton_schulz",
    "optimizers.state_bytes_per_parameter",
    "networks.expected_busiest",
    "networks.separate_links_probability",
    "pipeline.in_flight_microbatches",
    "pipeline.layers_per_stage",
    "pipeline.microbatches_for_fraction",
    "precision.block_scale",
    "precision.epsilon",
    "precision.largest_finite",
    "precision.loss_scale",
    "precision.pairwise_sum",
    "precision.quantized_block",
    "precision.round_to",
    "precision.sequential_sum",
    "precision.smallest_loss_scale",
    "precision.smallest_normal",
    "precision.smallest_subnormal",
    "precision.spacing",
    "precision.sum_stops_at",
    "precision.update_survives",
    "sampling.pass_at_k",
    "serving.cache_pages",
    "serving.cache_used",
    "serving.expected_longest",
    "serving.static_batch_idle",
    "sharding.cheapest_plan",
    "sharding.context_ring_hides",
    "sharding.expected_nodes",
    "sharding.expert_idle",
    "sharding.expert_imbalance",
    "sharding.parallelism_order",
    "throughput.matmul_intensity",
    "throughput.utilization_comb",
    "transformer.active_parameters",
    "transformer.attention_parameters",
    "transformer.layer_flops",
    "transformer.layer_parameters",
    "transformer.model_parameters",
    "transformer.packed_flops",
}


@each(
    "formula",
    [formula for name, formula in FORMULAS.items() if name not in NEEDS_PROSE],
    ids=[name for name in FORMULAS if name not in NEEDS_PROSE],
)
def test_the_formula_shown_is_the_formula_computed(formula: Formula) -> None:
    given = formula.read(legal(formula))
    names = quantities(formula, given)
    for name, text in definitions(formula):
        names[name] = evaluate(text, names)
    shown = list(names.values())[-max(1, len(formula.parts)) :]
    computed = values(formula.function(**given))
    assert [quantity.value for quantity in shown] == pytest.approx(list(computed), rel=1e-12)
    if formula.inputs:
        assert {quantity.dimension for quantity in shown} == {formula.result.dimension}


@every_formula
def test_an_argument_outside_its_domain_is_named_and_shown(formula: Formula) -> None:
    for name, argument in formula.inputs.items():
        for value in illegal(argument):
            with pytest.raises(ValueError, match=f"^{name} must ") as refused:
                formula.function(**legal(formula) | {name: value})
            found = value[0] if isinstance(value, tuple) else value
            assert repr(found)[:9] in str(refused.value)


@every_formula
def test_it_takes_the_same_arguments_as_text(formula: Formula) -> None:
    plain = legal(formula)
    typed = {name: as_text(value, formula.inputs[name].unit) for name, value in plain.items()}
    assert formula.read(typed) == plain
    assert formula.function(**formula.read(typed)) == formula.function(**plain)


@every_formula
def test_whole_numbers_may_come_as_floats(formula: Formula) -> None:
    plain = legal(formula)
    floats = {
        name: float(value) if isinstance(value, int) and not isinstance(value, bool) else value
        for name, value in plain.items()
    }
    assert formula.function(**floats) == formula.function(**plain)


@every_formula
@each("samples", [LEGAL, HUGE], ids=["plausible", "huge"])
def test_legal_arguments_give_finite_results_in_words(formula: Formula, samples: dict[str, Argument]) -> None:
    result = formula.function(**legal(formula, samples))
    assert all(math.isfinite(value) and value >= 0 for value in values(result))
    assert formula.text(result)


@every_formula
def test_every_choice_is_taken(formula: Formula) -> None:
    for name, argument in formula.inputs.items():
        for choice in () if argument.many else argument.choices:
            result = formula.function(**legal(formula) | {name: choice})
            assert all(math.isfinite(value) for value in values(result))


@every_formula
def test_defaults_are_those_of_the_signature(formula: Formula) -> None:
    parameters = inspect.signature(formula.function).parameters
    required = [name for name, known in parameters.items() if known.default is known.empty]
    assert [name for name, known in formula.inputs.items() if known.required] == required


NUMBERS = st.one_of(st.floats(), st.integers(), st.integers(1, 100), st.floats(1e-30, 1e30), st.booleans())


def anything(formula: Formula) -> st.SearchStrategy[dict[str, Any]]:
    drawn: dict[str, st.SearchStrategy[Any]] = {}
    for name, argument in formula.inputs.items():
        one: st.SearchStrategy[Any] = NUMBERS
        if argument.choices:
            one = st.sampled_from(argument.choices)
        if argument.record:
            one = st.sampled_from([legal(formula)[name], *argument.record.known().values()])
        drawn[name] = st.lists(one, max_size=5) if argument.many else one
    return st.fixed_dictionaries(drawn)


@given(st.data())
def test_whatever_is_given_comes_back_finite_or_is_refused(data: st.DataObject) -> None:
    formula = data.draw(st.sampled_from(list(FORMULAS.values())))
    given = data.draw(anything(formula))
    try:
        result = formula.function(**given)
    except ValueError as refused:
        assert re.match(r"\w+ must ", str(refused))
    else:
        assert all(math.isfinite(value) for value in values(result))

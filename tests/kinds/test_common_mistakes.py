"""A slip is named where the quantity can have it, in the unit that was typed or shown."""

import asyncio
import re
from collections.abc import Iterator

from app.core.units import Reading, scale_of
from app.course.content.catalog import Catalog
from app.course.kinds.answer_key import AnswerKey, AskedQuantity, ScoredMistake, Sort, keys_of
from app.course.kinds.choice import LabExercise
from app.course.kinds.common_mistakes import common_mistake, common_wordings
from app.course.kinds.numeric import Numeric
from app.course.sandbox.runner import Runner
from app.server.config import Settings
from app.server.db.tables import MISTAKE_LIMIT
from tests.each import each

SEEDS = range(4)
NO_RUNNER = Runner(Settings())

# What a number in each unit can have, written down by hand: GB has gigabits and a GiB; a time in
# minutes, a price and a count have no prefix that could be wrong, and only per cent has per cent.
DATA = {"bits", "prefixes"}
ADMITS = {
    "B": DATA, "kB": {*DATA, "KiB"}, "KiB": {*DATA, "kB"}, "MB": {*DATA, "MiB"}, "MiB": {*DATA, "MB"},
    "GB": {*DATA, "GiB"}, "GiB": {*DATA, "GB"}, "TB": {*DATA, "TiB"}, "PB": {*DATA, "PiB"},
    "GB/s": {*DATA, "GiB/s", "direction"}, "MB/s": {*DATA, "MiB/s", "direction"},
    "TB/s": {*DATA, "TiB/s", "direction"},
    "ms": {"prefixes"}, "s": {"prefixes"}, "µs": {"prefixes"}, "us": {"prefixes"},
    "FLOP": {"prefixes"}, "GFLOP": {"prefixes"}, "TFLOP/s": {"prefixes"}, "EFLOP/s": {"prefixes"}, "FLOP/B": {"prefixes"},
    "MW": {"prefixes"}, "GWh": {"prefixes"}, "kW": {"prefixes"}, "MWh": {"prefixes"},
    "%": {"per cent"}, "": set(), "million": set(), "nodes": set(), "steps": set(), "$": set(), "1/s": set(), "GPU-hours": set(), "GPUs": set(), "days": set(), "h": set(), "min": set(), "years": set(),
    "tokens": set(), "sequences/s": set(), "tokens/s": set(), "PF-days": set(), "FLOP/s": {"prefixes"},
}  # fmt: skip
CLAIMS = {
    "bits": re.compile(r"\bbits\b"),
    "direction": re.compile(r"direction|phase"),
    "prefixes": re.compile(r"prefixes"),
    "per cent": re.compile(r"per cent|percentage|A fraction"),
    **{
        name: re.compile(rf"(?<!of ){re.escape(name)}(?![\w/])")
        for p in ("k", "K", "M", "G", "T", "P")
        for name in (f"{p}B", f"{p}iB", f"{p}iB/s")
    },
}
FACTORS = (
    2, 1 / 2, 8, 1 / 8, -1, 10, 1 / 10, 100, 1 / 100,
    *(1000.0**n for n in (1, 2, 3, -1, -2, -3)), *(1.024**n for n in (1, 2, 3, 4, -1, -2, -3, -4)),
)  # fmt: skip


def keys(catalog: Catalog) -> Iterator[tuple[str, AnswerKey]]:
    for exercise in catalog.exercises:
        if isinstance(exercise, Numeric | LabExercise):
            for seed in SEEDS:
                for name, key in exercise.keys(seed).items():
                    yield f"{exercise.id} {name} {seed}", key


def test_no_slip_is_named_that_the_quantity_cannot_have(catalog: Catalog) -> None:
    misled = []
    for where, key in keys(catalog):
        foreseen = {says for _, says in key.mistakes}
        for factor in FACTORS:
            reading = key.asked.read(key.asked.typed(key.right * factor))
            if key.holds(reading) or (says := key.blame(reading)) in foreseen:
                continue
            if says.startswith("That is the answer to another part"):
                continue
            claims = {name for name, claim in CLAIMS.items() if claim.search(says)}
            if claims - ADMITS[key.asked.unit] - {key.asked.unit}:
                misled.append((where, factor, says))
    assert not misled, f"{len(misled)}: {misled[:5]}"


def key_of(asked: AskedQuantity) -> AnswerKey:
    return keys_of({"it": asked}, {}, lambda text, _: text)["it"]


@each(
    ("factor", "unit", "says"),
    [
        (8, "GB", "bits"), (1 / 8, "GB/s", "bits"), (8, "ms", "8 times the right one."), (8, "", "8 times the right one."),
        (2, "GB/s", "direction"), (2, "GB", "twice the right one"), (1 / 2, "", "half the right one"),
        (1000, "ms", "prefixes"), (1000, "days", "1,000 times the right one."), (1e-6, "GB", "prefixes"),
        (1e9 / 2**30, "GB", "right in GiB"), (2**30 / 1e9, "GB", "mixed up"), (1.024**2, "MB", "MiB"),
        (1.024, "GB", ""), (1.024**4, "GB", ""), (2**30 / 1e9, "ms", ""), (2**30 / 1e9, "GiB", "right in GB"),
        (100, "%", "percentage"), (1 / 100, "%", "fraction"), (100, "", "decimal point"), (10, "$", "decimal point"),
        (1.02, "GB", ""), (1.1, "GB", ""), (1.37, "GB", ""), (-1, "s", "sign"),
    ],
)  # fmt: skip
def test_each_slip_has_its_sentence(factor: float, unit: str, says: str) -> None:
    told = common_mistake(factor, scale_of(unit), 0.01)
    assert says in told if says else told == ""


# From the audit: each of these was told a cause that it cannot have.
@each(
    ("unit", "right", "typed", "never"),
    [
        ("GB", "50 GB", "51", "KiB"), ("GB", "50 GB", "55", "TiB"), ("GB/s", "37.5 GB/s", "38.5", "KiB"),
        ("", "32", "256", "bits"), ("", "32", "16", "phase"), ("", "4e-3", "0.032", "bits"),
        ("", "4e-3", "8e-3", "direction"), ("", "2^-10", "2^-7", "bits"), ("", "0.015625", "2^-3", "bits"),
    ],
)  # fmt: skip
def test_the_slips_of_the_audit_are_not_named(unit: str, right: str, typed: str, never: str) -> None:
    asked = AskedQuantity(answer=right, unit=unit)
    key = key_of(asked)
    assert never not in key.blame(asked.read(typed))


@each(
    ("unit", "right", "typed", "says"),
    [
        ("GB", "1.5 GB", "1500000000", "Right in bytes, but a number without a unit is in GB here."),
        ("GB", "1.5 GB", "1.5e9", "Right in bytes"), ("GB", "1.5 GB", "1500", "Right in MB"),
        ("GB/s", "50 GB/s", "400", "Right in Gbit/s"), ("ms", "70 ms", "0.07", "Right in s,"),
        ("h", "1138 s", "18.97", "Right in min"), ("days", "48 h", "48", "Right in h,"),
        ("TFLOP/s", "400 TFLOP/s", "4e14", "Right in FLOP/s"), ("GB", "1.5 GB", "1500000000 GB", "prefixes"),
        ("ms", "70 ms", "2 * 0.035", "Right in s,"), ("GB", "1.5 GB", "2 * 750000000 GB", "prefixes"),
    ],
)  # fmt: skip
def test_a_bare_number_in_another_unit_is_told_so(unit: str, right: str, typed: str, says: str) -> None:
    asked = AskedQuantity(answer=right, unit=unit)
    assert says in key_of(asked).blame(asked.read(typed))


@each(
    ("unit", "right", "typed", "says"),
    [
        ("GB", "1.75 GB", "1.75 Gb", "The number is right in GB, but your answer is in Gbit."),
        ("GB", "1.75 GB", "1.75 gigabits", "in Gbit."), ("GB", "1.75 GB", "1.752 MB", "is right in GB, but your answer is in MB."),
        ("GB", "1.75 GB", "1.75 B", "in bytes."), ("GB", "1.75 GB", "1.75 GiB", "The figure is right in GB"),
        ("GB/s", "50 GB/s", "50 Gbps", "in Gbit/s."), ("Gbit/s", "400 Gbit/s", "400 GB/s", "is right in Gbit/s, but your answer is in GB/s."),
        ("ms", "70 ms", "70 s", "is right in ms, but your answer is in s."), ("days", "2 days", "2 h", "in h."),
        ("ms", "70 ms", "2*35 s", "in s. Read as 70,000 ms."),
        ("GB", "1.75 GB", "1.79 Gb", "too small"), ("%", "77 %", "77 x", "100 times"),
        ("", "1.5", "1.5 %", "The number is right, but it is not a percentage"), ("", "1.5", "1.7 %", "a share"),
    ],
)  # fmt: skip
def test_the_right_number_with_another_unit_is_told_so(unit: str, right: str, typed: str, says: str) -> None:
    asked = AskedQuantity(answer=right, unit=unit)
    assert says in key_of(asked).judge(asked.read(typed)).says


# 1.75 GiB is 1.879 GB, which is within the tolerance of the mistake 1.875 GB, but no such slip.
@each(
    ("typed", "says"),
    [("1.75 GiB", "The figure is right in GB"), ("1.875 GB", "counted"), ("1.88", "counted"), ("1.75 MB", "listed")],
)  # fmt: skip
def test_of_a_wrong_unit_and_a_listed_mistake_the_nearer_is_told(typed: str, says: str) -> None:
    mistakes = {"1.875 GB": ScoredMistake(says="counted"), "1.75 MB": ScoredMistake(says="listed")}
    asked = AskedQuantity(answer="1.75 GB", unit="GB", mistakes=mistakes)
    assert says in key_of(asked).blame(asked.read(typed))


@each(
    ("unit", "right", "typed", "says"),
    [
        ("", "ceil(885.14)", "885.14", "The answer must be a whole number: round 885.14 up."),
        ("", "ceil(885.14)", "886.2", "round 886.2 down"), ("", "ceil(885.14)", "884.9", "884.9 is too small"),
        ("", "ceil(885.14)", "885", "885 is too small"),
        ("", "886", "886.2", "886.2 is too large"), ("", "ceil(0.2)", "0.9", "0.9 is too small"),
        ("", "floor(0.2)", "0.001", "0.001 is too large"),
        ("", "1 * 4/3", "33 %", "the answer is the factor: 1 + 33 %"),
        ("", "4/3", "25 %", "25 % is a share, but the question asks for a number."), ("", "0.75", "27 %", "too small"),
    ],
)  # fmt: skip
def test_a_number_of_another_form_is_told_which_is_wanted(unit: str, right: str, typed: str, says: str) -> None:
    quantity: Sort = "factor" if "1 *" in right else ""
    tolerance = "exact" if right == "886" or "(" in right else "1 %"
    asked = AskedQuantity(answer=right, unit=unit, quantity=quantity, tolerance=tolerance)
    assert says in key_of(asked).blame(asked.read(typed))


@each(
    ("unit", "right", "typed", "is_near"),
    [
        ("ms", "7.3 ms", "7", True), ("", "7.3", "7", True), ("", "4/3", "1", False), ("", "1.125", "1", False),
        ("", "0.96", "1", False), ("", "0.96", "1.0", False), ("", "1.97", "2", False), ("", "0.3018", "0", False),
        ("FLOP/B", "0.25 FLOP/B", "0", False), ("ms", "1.51 ms", "2", False), ("ms", "2.04 ms", "2", True),
        ("", "0.6856", "1", False), ("", "7.848", "8", True), ("GPUs", "1.371", "1", False), ("", "1.02", "1", False),
        ("%", "0.04 %", "0", False), ("", "26.8", "30", False), ("", "26.8", "27", True),
    ],
)  # fmt: skip
def test_only_a_number_that_is_nearly_right_is_right_as_far_as_it_goes(
    unit: str, right: str, typed: str, is_near: bool
) -> None:
    asked = AskedQuantity(answer=right, unit=unit, tolerance="0.1 %")
    assert ("as far as it goes" in key_of(asked).blame(asked.read(typed))) == is_near


def test_a_factor_of_8_is_not_blamed_on_bits_where_the_question_has_an_8(catalog: Catalog) -> None:
    """An expert of 8 copies, all 8 ranks for one: the factor is in the question."""
    accused, named = [], 0
    for where, key in keys(catalog):
        for factor in (8, 1 / 8):
            reading = key.asked.read(key.asked.typed(key.right * factor))
            bare = key.asked.read(f"{key.right * factor / key.asked.scale.factor:.12g}")
            for typed in (reading, bare):
                says = "" if key.holds(typed) else key.blame(typed)
                if says in {text for _, text in key.mistakes}:
                    continue
                named += "bit" in says
                if key.numbers and key.numbers.has_eight and ("bits" in says or "bit," in says):
                    accused.append((where, says))
    assert accused == []
    assert named > 100  # where there is none, bits are the usual cause


@each(
    ("exercise", "has_eight"),
    [
        ("collectives/bytes-sent-by-a-ring", True), ("experts/bytes-of-a-dispatch", True),
        ("capstone/activations-of-stage-zero", True), ("memory/stage-1", False),
    ],
)  # fmt: skip
def test_an_8_is_found_where_it_is_drawn_or_written(catalog: Catalog, exercise: str, has_eight: bool) -> None:
    found = catalog.exercise(exercise)
    assert isinstance(found, Numeric)
    numbers = [key.numbers for key in found.keys(0).values()]
    assert all(one and one.has_eight == has_eight for one in numbers)


def test_a_mistake_of_nothing_catches_nothing_but_nothing() -> None:
    asked = AskedQuantity(answer="6 %", unit="%", tolerance="0.2 points", mistakes={"0": "None at all."})
    key = key_of(asked)
    assert key.blame(asked.read("0")) == "None at all."
    assert key.blame(asked.read("0.06")) == "You entered a fraction, but the answer is a percentage."


def test_a_third_of_the_bubble_as_a_fraction_is_told_so(catalog: Catalog) -> None:
    exercise = catalog.exercise("pipelines/a-third-of-the-bubble")
    assert isinstance(exercise, Numeric)
    for seed in range(20):
        share = exercise.keys(seed)["answer"].right
        verdict = asyncio.run(exercise.grade(seed, f"{share:.4f}", NO_RUNNER))
        assert not verdict.correct
        assert "ZB-H2" not in verdict.feedback[0]


# What a person reads on the page and types back is right: of every exercise, at many drawings.
def test_the_answer_that_is_shown_is_right_when_typed_back(catalog: Catalog) -> None:
    refused = []
    for exercise in catalog.exercises:
        if isinstance(exercise, Numeric | LabExercise):
            for seed in range(25):
                shown = re.findall(r"\*\*(.+?)\*\*", exercise.reveal(seed))
                for text, (name, key) in zip(shown, exercise.keys(seed).items(), strict=False):
                    if not key.holds(key.asked.read(text)):
                        refused.append((exercise.id, seed, name, text))
    assert not refused


_STATED = re.compile(r"\*\*\{(\w+)(?: \|[^}]*)?\}\*\*")


def test_the_answer_that_a_solution_states_is_right_when_typed_back(catalog: Catalog) -> None:
    refused = []
    for exercise in catalog.exercises:
        if not isinstance(exercise, Numeric):
            continue
        for seed in range(12):
            drawn, keys = exercise.solved(exercise.draw(seed)), exercise.keys(seed)
            for stated in _STATED.finditer(exercise.solution):
                if key := keys.get(stated[1]):
                    text = exercise.fill(stated[0], drawn).strip("*")
                    if not key.holds(key.asked.read(text)):
                        refused.append((exercise.id, seed, text))
    assert not refused


def test_the_ends_of_what_counts_are_told_apart_and_count(catalog: Catalog) -> None:
    for where, key in keys(catalog):
        if match := re.search(r"Anything from (.+) to (.+) counts", key.praise()):
            low, high = (key.asked.read(end) for end in match.groups())
            assert key.holds(low), (where, key.praise())
            assert key.holds(high), (where, key.praise())
            assert high.value - low.value >= 0.85 * (key.high - key.low), (where, key.praise())


def test_the_value_of_arithmetic_is_told(catalog: Catalog) -> None:
    exercise = catalog.exercise("collectives/ring-all-reduce-time")
    right = asyncio.run(exercise.grade(0, "2*2*7/8/50 s", NO_RUNNER))
    wrong = asyncio.run(exercise.grade(0, "2*7/8/50 s", NO_RUNNER))
    plain = asyncio.run(exercise.grade(0, "70 ms", NO_RUNNER))
    assert right.correct
    assert right.feedback[0].endswith(" Read as 70 ms.")
    assert wrong.feedback[0].endswith(" Read as 35 ms.")
    assert "Read as" not in plain.feedback[0]


def test_the_value_of_arithmetic_is_told_of_each_part(catalog: Catalog) -> None:
    exercise = catalog.exercise("collectives/bus-bandwidth")
    assert isinstance(exercise, Numeric)
    right = exercise.right_answer(0)
    assert isinstance(right, dict)
    verdict = asyncio.run(exercise.grade(0, {"bus": f"2 * {right['bus']} / 2"}, NO_RUNNER))
    assert verdict.parts["bus"].correct
    assert "Read as" in verdict.parts["bus"].says


def test_a_prediction_of_a_lab_may_be_arithmetic(catalog: Catalog) -> None:
    exercises = [e for e in catalog.exercises if isinstance(e, LabExercise)]
    assert exercises
    for exercise in exercises:
        right = exercise.right_answer(0)
        assert isinstance(right, dict)
        names = list(exercise.predict)
        worked = right | {name: f"(1 + 1) * {right[name]} / 2" for name in names}
        verdict = asyncio.run(exercise.grade(0, worked, NO_RUNNER))
        assert verdict.correct, exercise.id
        assert all("Read as" in verdict.parts[name].says for name in names)


def test_a_bare_reading_has_no_unit_and_a_written_one_has() -> None:
    asked = AskedQuantity(answer="1", unit="GB")
    assert asked.read("5") == Reading(5e9, 1e9)
    assert asked.read("5 MB").scale == scale_of("MB")


def test_what_arithmetic_came_to_is_said_once() -> None:
    asked = AskedQuantity(answer="70 ms", unit="ms")
    assert key_of(asked).judge(asked.read("2*2*7/8/40 s")).says == "87.5 ms is too large."
    assert key_of(asked).judge(asked.read("2*2*7/8/50 s")).says.endswith("Read as 70 ms.")


@each(
    ("tolerance", "typed", "says"),
    [
        ("0.05 %", "40.2", "twice"),  # 2 * 20.113 is 40.226
        ("0.05 %", "40.3", "too large"),
        ("exact", "40.2", "twice"),
        ("exact", "40", "too large"),
        ("0.05 %", "40.226", "twice"),
    ],
)
def test_a_number_of_three_figures_is_a_multiple_although_the_answer_needs_more(
    tolerance: str, typed: str, says: str
) -> None:
    asked = AskedQuantity(answer="20.113 ms", unit="ms", tolerance=tolerance)
    key = keys_of({"it": asked}, {}, lambda text, _: text)["it"]
    assert says in key.blame(asked.read(typed))


def test_a_common_mistake_is_stored_under_a_short_key_of_its_own() -> None:
    known = list(common_wordings())
    keys = {key for key, _ in known}
    assert len(keys) == len({says for _, says in known}) > 1000
    assert max(map(len, keys)) <= MISTAKE_LIMIT
    assert not [key for key in keys if re.fullmatch("[0-9a-f]{12}", key)]  # an author's
    assert {"half", "sign", "labeled-GB", "MB-for-GB", "point-0.1", "Gbit-written-for-GB"} <= keys


@each(("typed", "says"), [("13", "counted"), ("12", "counted"), ("12.4", "counted"), ("14", "14 is too large")])
def test_a_mistake_that_was_rounded_like_the_answer_is_known(typed: str, says: str) -> None:
    asked = AskedQuantity(answer="ceil(4.1)", tolerance="exact", mistakes={"12.4": ScoredMistake(says="counted")})
    assert says in key_of(asked).blame(asked.read(typed))


def test_of_a_share_near_one_what_is_left_of_it_counts() -> None:
    asked = AskedQuantity(answer="0.98726", tolerance="0.1 %")
    assert "as far as it goes" not in key_of(asked).blame(asked.read("0.99"))
    assert "as far as it goes" in key_of(AskedQuantity(answer="7.3")).blame(asked.read("7"))


@each(("typed", "is_told"), [("3", True), ("4", True), ("3.3", True), ("2", False), ("5", False), ("3.4", False)])
def test_a_mistake_of_a_count_is_known_however_it_is_rounded(typed: str, is_told: bool) -> None:
    mistakes = {"ceil(3.3)": ScoredMistake(says="listed")}
    asked = AskedQuantity(answer="ceil(8.8)", tolerance="exact", mistakes=mistakes)
    assert ("listed" in key_of(asked).blame(asked.read(typed))) == is_told


@each(("condition", "is_told"), [("1 < 2", True), ("2 < 1", False), ("", True)])
def test_a_mistake_is_one_where_its_condition_holds(condition: str, is_told: bool) -> None:
    asked = AskedQuantity(
        answer="9 s", unit="s", mistakes={"5 s": ScoredMistake(says="listed", score=0.5, when=condition)}
    )
    verdict = key_of(asked).judge(asked.read("5"))
    assert (verdict.says, verdict.score) == (("listed", 0.5) if is_told else ("5 s is too small.", 0.0))


# 5 s is a term, 6 s is what is left without 1.03 s; 7 s is the answer rounded.
@each(
    ("answer", "typed", "is_near"),
    [("5 s + 2.03 s", "7", True), ("6 s + 0.1 s", "6", False), ("7.1 s - 0.1 s", "7.1", False)],
)
def test_what_a_term_makes_is_not_right_as_far_as_it_goes(answer: str, typed: str, is_near: bool) -> None:
    asked = AskedQuantity(answer=answer, unit="s", tolerance="0.1 %")
    assert key_of(asked).blame(asked.read(typed)).startswith("Right as far as it goes") == is_near


@each(
    ("right", "typed", "is_near"),
    [
        ("0.98726", "0.99", False),
        ("0.98724", "0.9872", True),
        ("1.031", "1.03", True),
        ("1.06", "1.1", False),
        ("1.8", "1.83", False),
    ],
)
def test_near_1_the_distance_from_1_counts(right: str, typed: str, is_near: bool) -> None:
    asked = AskedQuantity(answer=right, tolerance="0.001 %")
    assert key_of(asked).blame(asked.read(typed)).startswith("Right as far as it goes") == is_near

"""What pydantic refuses is told in words of ours, through every door."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import core_schema

from app.__main__ import main
from app.commands.doctor import checks
from app.core.errors import AppError
from app.core.folders import ROOT
from app.core.published.sources import read_source
from app.core.validation import problems_of
from app.core.yaml_file import read_document
from app.course.content import errata
from app.course.content.outline import read_course_file
from app.course.content.translations import read_exercise, read_topic
from app.course.kinds.schema_errors import faults
from app.labs import spec
from app.server.config import Settings
from app.site.labs.upload import read_sent
from tests.each import each
from tests.labs.quiet_runs import quiet_run
from tests.published.test_sources import SMALL

_DATA = ROOT / "app" / "course" / "content" / "data"
_LAB = ROOT / "app" / "labs" / "library" / "all_reduce" / "lab.yaml"
_TOPIC = ROOT / "exercises" / "collectives" / "topic.yaml"
_EXERCISE = ROOT / "exercises" / "collectives" / "ring-all-reduce-time.yaml"
_OF_PYDANTIC = (
    "input should", "field required", "extra inputs", "validation error", "pydantic", "input is ",
    "value error", "should have at", "unable to parse", "value should", "mapping should",
)  # fmt: skip
_CONTEXT = {
    **dict.fromkeys(("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length"), 2),
    **dict.fromkeys(("actual_length", "expected_version", "tz_expected", "tz_actual"), 3),
    **dict.fromkeys(("max_digits", "decimal_places", "whole_digits"), 4),
    **dict.fromkeys(("expected", "error", "pattern", "tag", "discriminator", "expected_tags"), "x"),
    **dict.fromkeys(("expected_schemes", "class_name", "class", "name", "encoding", "encoding_error"), "x"),
    **dict.fromkeys(("field_type", "expected_plural", "method_name", "attribute"), "x"),
}
Values = dict[str, Any]
Door = Callable[[Path, pytest.MonkeyPatch], object]


_WRONG: tuple[Any, ...] = (
    None, -1, 1.5, float("inf"), True, "", "x", [], [[]], ["x"], {}, {"x": []},
)  # fmt: skip


def wrong(values: Values, deep: int = 3) -> Iterator[Values]:
    """*values* without each key, with an unknown one, and with values of each wrong type."""
    for key, value in values.items():
        yield {name: other for name, other in values.items() if name != key}
        for other in _WRONG:
            yield {**values, key: other}
        if deep and isinstance(value, dict):
            yield from ({**values, key: inner} for inner in wrong(value, deep - 1))
    yield {**values, "unheard_of": 1}


def small(values: Mapping[str, Any]) -> Values:
    """*values* with the first entry of every map of maps: the others are alike."""
    return {
        key: dict(list(value.items())[:1])
        if isinstance(value, dict) and all(isinstance(one, dict) for one in value.values())
        else value
        for key, value in values.items()
    }


def of_file(path: Path) -> Values:
    """A file of which every entry is alike, with its first."""
    return dict(list(read_document(path).values.items())[:1])


def read_terms(path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(errata, "FILE", path)
    return errata.terms.__wrapped__()


def read_errata(path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(errata, "_FILES", {"A": path})
    return errata.errata.__wrapped__()


def read_questions(path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(errata, "_FILE", path)
    return errata.question_file.__wrapped__()


def read_lab(path: Path, _: pytest.MonkeyPatch) -> object:
    return spec._read_spec(path)


DOORS: dict[str, tuple[Values, Door]] = {
    "glossary": (of_file(_DATA / "terms.yaml"), read_terms),
    "errata": (of_file(_DATA / "errata" / "claims.yaml"), read_errata),
    "questions": (small(read_document(_DATA / "questions.yaml").values), read_questions),
    "course": (small(read_document(ROOT / "exercises" / "course.yaml").values),
              lambda path, _: read_course_file(path)),
    "chapter": (dict(read_document(_TOPIC).values), lambda path, _: read_topic(path)),
    "exercise": (dict(read_document(_EXERCISE).values),
                 lambda path, _: read_exercise(path, "collectives")),
    "lab": (dict(read_document(_LAB).values), read_lab),
    "published": (yaml.safe_load(SMALL), lambda path, _: read_source(path)),
    "run": (json.loads(quiet_run("all-reduce").as_json()),
            lambda path, _: read_sent(path.read_text(encoding="utf-8"))),
}  # fmt: skip


def refusals(values: Values, read: Door, folder: Path, patch: pytest.MonkeyPatch) -> Iterator[str]:
    """What *read* says of each wrong file; it says nothing of those that are right as well."""
    path = folder / "some-file.yaml"
    for one in wrong(values):
        text = json.dumps(one) if read is DOORS["run"][1] else yaml.safe_dump(one)
        path.write_text(text, encoding="utf-8")
        try:
            read(path, patch)
        except AppError as error:
            yield str(error)


@each("door", DOORS)
def test_what_a_file_has_wrong_is_told_in_words_of_ours(
    door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, read = DOORS[door]
    says = list(refusals(deepcopy(values), read, tmp_path, monkeypatch))
    assert len(says) > len(values)
    assert [one for one in says if any(word in one.casefold() for word in _OF_PYDANTIC)] == []


def test_what_a_setting_has_wrong_is_told_in_words_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = set()
    for name in Settings.model_fields:
        for value in ("", "x", "-1", "nan", "1e400", "[", "{", "9" * 5000):
            variable = f"WALLCLOCK_{name.upper()}"
            with monkeypatch.context() as changed:
                changed.setenv(variable, value)
                try:
                    Settings()
                except ValueError:
                    refused.add(name)
                else:
                    continue
                assert main(["backup", "/nowhere/at/all"]) == 1
                says = capsys.readouterr().err
                says += next(one.says for one in checks() if one.name == "settings")
            assert "WALLCLOCK_" in says
            assert not any(word in says.casefold() for word in _OF_PYDANTIC), says
    assert {"port", "sandbox_workers", "language", "secret"} <= refused


@each("kind", get_args(core_schema.ErrorType))
def test_every_kind_of_refusal_has_words_of_ours(kind: str) -> None:
    given = {"type": kind, "loc": ("x",), "input": 1, "ctx": _CONTEXT}
    error = ValidationError.from_exception_data("x", [given])  # type: ignore[list-item]
    with_cures = [says for _, says, _ in faults(error, {}, Settings)]
    for says in (*with_cures, *(says for _, says in problems_of(error.errors()))):
        assert kind in {"value_error", "assertion_error"} or says.startswith(
            ("must ", "is ", "has ", "needs ", "not valid JSON")
        )
        assert not any(word in says.casefold() for word in _OF_PYDANTIC)


def _bounded(model: type[BaseModel]) -> Iterator[tuple[str, Mapping[str, float]]]:
    """The fields of *model* that have bounds, which are numbers."""
    for name, field in model.model_fields.items():
        bounds = {key: getattr(one, key) for one in field.metadata for key in ("ge", "gt", "le", "lt")
                  if isinstance(getattr(one, key, None), int | float)}  # fmt: skip
        if bounds:
            yield field.alias or name, bounds


def _models(model: type[BaseModel] = BaseModel) -> Iterator[type[BaseModel]]:
    for one in model.__subclasses__():
        yield one
        yield from _models(one)


def test_no_bound_of_any_model_is_told_with_a_fraction_of_zero() -> None:
    """Of every file, request and setting: "must be at least 0, not -1", never 0.0 and -1.0."""
    told = 0
    for model in set(_models()):
        if not model.__module__.startswith("app."):
            continue
        for name, bounds in _bounded(model):
            for key, bound in bounds.items():
                given = bound - 1 if key in ("ge", "gt") else bound + 1
                with pytest.raises(ValidationError) as refused:
                    model.model_validate({name: given})
                errors = refused.value.errors()
                own = [says for _, says, _ in faults(refused.value, {name: given}, model)]
                for says in (*own, *(says for _, says in problems_of(errors, model))):
                    assert not re.search(r"\d\.0\b", says), (model, name, says)
                told += 1
    assert told > 50

"""Many small cases in one test: pytest itself takes longer for a test than most of them do."""

import inspect
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from itertools import product
from typing import Any

import pytest

Test = Callable[..., None]
Names = Iterable[str] | Callable[[Any], str] | None  # of the cases, as in `parametrize`
Case = tuple[str | None, dict[str, Any]]  # the name that it was given, if any, and its values


def each(names: str | Sequence[str], cases: Iterable[Any], *, ids: Names = None) -> Callable[[Test], Test]:
    """Like `pytest.mark.parametrize`, but one test goes through all *cases*.

    Every case runs, whatever becomes of the others, and each that fails is reported by name. They
    share the fixtures of the test: where a case could change one for the next, use
    `pytest.mark.parametrize`.
    """
    axis = _axis(names, cases, ids)
    assert axis, "no cases"

    def decorate(test: Test) -> Test:
        inner: Test = getattr(test, "one_case", test)
        axes: list[list[Case]] = [axis, *getattr(test, "axes", [])]

        @wraps(test)
        def run(**fixtures: Any) -> None:
            failures = _Failures()
            for case in product(*axes):
                values = {name: value for _, part in case for name, value in part.items()}
                with failures.of(case):
                    inner(**fixtures, **values)
            failures.report()

        vars(run).update(one_case=inner, axes=axes, __signature__=_without(inner, {n for a in axes for n in a[0][1]}))
        return run

    return decorate


class _Failures:
    """What went wrong in some cases, each with the name of its case."""

    def __init__(self) -> None:
        self._found: list[BaseException] = []

    @contextmanager
    def of(self, case: Sequence[Case]) -> Iterator[None]:
        """Keep what goes wrong, for `report`; a skip or an interruption is of the whole test."""
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  # reported below
            error.add_note("in the case " + "-".join(map(_name, case)))
            self._found.append(error)

    def report(self) -> None:
        """Raise what went wrong."""
        if len(self._found) == 1:
            raise self._found[0]
        if self._found:
            raise BaseExceptionGroup(f"{len(self._found)} cases failed", self._found)


def _axis(names: str | Sequence[str], cases: Iterable[Any], ids: Names) -> list[Case]:
    """The cases by their order, with their values by name."""
    single = isinstance(names, str) and "," not in names
    split = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    rows = [(case,) if single else tuple(case) for case in cases]
    said = [None] * len(rows) if ids is None else _said(ids, rows)
    return [(name, dict(zip(split, row, strict=True))) for name, row in zip(said, rows, strict=True)]


def _said(ids: Iterable[str] | Callable[[Any], str], rows: list[tuple[Any, ...]]) -> Iterable[str]:
    return ["-".join(map(ids, row)) for row in rows] if callable(ids) else ids


def _name(case: Case) -> str:
    """The name of a case that has failed."""
    name, values = case
    return name or "-".join(map(reprlib.repr, values.values()))


def _without(test: Test, names: set[str]) -> inspect.Signature:
    """What is left of the parameters of *test*: its fixtures."""
    signature = inspect.signature(test)
    unknown = names - set(signature.parameters)
    assert not unknown, f"{test.__name__} does not take {sorted(unknown)}"
    kept = [one for name, one in signature.parameters.items() if name not in names]
    return signature.replace(parameters=kept)

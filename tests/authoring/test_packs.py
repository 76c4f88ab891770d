"""`wallclock pack` and `wallclock new pack`: from an empty folder to a proven pack."""

import asyncio
import json
from pathlib import Path

import pytest

from app.__main__ import main
from app.authoring.lint import lint, problems_of_pack
from app.authoring.packs import CheckedPack, check_pack, problems_of_project, prove_formulas
from app.core.errors import InputError
from app.core.formulas import FORMULAS, Formula, formula_of
from app.course.content.course import load_pack_formulas, read_pack, sources_of
from app.course.sandbox.runner import Runner

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _own_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test adds to the formulas is gone after it."""
    monkeypatch.setattr(FORMULAS, "_functions", dict(FORMULAS._functions))


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """The folder of a pack that `wallclock new pack` wrote, with a formula."""
    assert main(["new", "pack", "my-course", "--formulas", "--into", str(tmp_path)]) == 0
    return tmp_path / "my-course" / "my_course"


def changed(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def checked(pack: Path, runner: Runner, loop: asyncio.AbstractEventLoop) -> CheckedPack:
    return loop.run_until_complete(check_pack(pack, runner, loads=True))


def formulas_of(pack: Path) -> dict[str, Formula]:
    read = read_pack(pack)
    return {name: formula_of(name, one) for name, one in load_pack_formulas(read, sources_of(read)).items()}


def told(pack: Path) -> str:
    problems = list(prove_formulas(read_pack(pack), formulas_of(pack)))
    assert all(problem.cure for problem in problems)
    return "\n".join(map(str, problems))


def test_a_new_pack_is_proven(pack: Path, runner: Runner, loop: asyncio.AbstractEventLoop) -> None:
    found = checked(pack, runner, loop)
    assert found.linted.problems == ()
    assert (found.linted.files, found.formulas, len(found.digest)) == (1, 1, 32)


def test_a_pack_is_never_written_over(pack: Path, capsys: Capture) -> None:
    folder = str(pack.parent.parent)
    assert main(["new", "pack", "my-course", "--into", folder]) == 1
    assert "already exists; nothing was changed" in capsys.readouterr().err
    assert main(["new", "pack", "My Course", "--into", folder]) == 1
    assert "must be lowercase letters" in capsys.readouterr().err


def test_without_consent_its_python_is_not_run(pack: Path, runner: Runner, loop: asyncio.AbstractEventLoop) -> None:
    changed(pack / "formulas" / "example.py", '"""Formulas', 'raise SystemExit\n"""Formulas')
    found = loop.run_until_complete(check_pack(pack, runner, loads=False))
    assert [problem.says for problem in found.linted.problems] == ["the formulas are not loaded"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("Time for an array to arrive over a link.", "time", "has no docstring that says what comes back"),
        ("        T = latency + size / bandwidth\n\n", "", "has no line of mathematics"),
        ("T = latency + size / bandwidth", "T = latency + 2 * size / bandwidth", "shows 0.04 and computes 0.02"),
        ("        latency: seconds until", "        seconds until", "does not describe latency"),
        ("    Source:\n", "    Note:\n", "has no source"),
        ('at_least("latency", latency, 0)', "latency", "computes something with latency that is not a number"),
        (
            'at_least("latency", latency, 0) +',
            '2 * at_least("latency", latency, 0) +',
            "' says 3 us; correct the formula",
        ),
    ],
)
def test_a_formula_that_is_not_proven_is_told(pack: Path, old: str, new: str, says: str) -> None:
    changed(pack / "formulas" / "example.py", old, new)
    assert says in told(pack)


def test_a_formula_needs_two_values_from_elsewhere(pack: Path) -> None:
    proofs = pack / "formulas" / "proofs.yaml"
    changed(proofs, "size: 1 B, bandwidth: 1000 GB/s, latency: 3 us", "size: 1 GB, bandwidth: 50 GB/s")
    changed(proofs, "equals: 3 us", "equals: 20 ms")
    assert "has 1 of 2 proofs with different values; write two" in told(pack)
    changed(proofs, "transfer_time:", "transfers:")
    assert "did you mean 'transfer_time'" in told(pack)
    proofs.unlink()
    assert "has 0 of 2 proofs" in told(pack)


def test_a_package_that_does_not_name_its_pack_is_told(pack: Path) -> None:
    project = pack.parent / "pyproject.toml"
    assert list(problems_of_project(read_pack(pack))) == []
    changed(project, '"my_course"\n\n', '"yours"\n\n')
    changed(project, 'version = "0.1.0"', 'version = "0.2.0"')
    said = "\n".join(map(str, problems_of_project(read_pack(pack))))
    assert "does not name the pack as an entry point" in said
    assert "version is 0.2.0, and that of pack.yaml 0.1.0" in said


def test_an_image_that_is_not_there_or_not_described_is_told(
    pack: Path, runner: Runner, loop: asyncio.AbstractEventLoop
) -> None:
    file = pack / "exercises" / "my-course" / "first.yaml"
    changed(file, "![A sender", "![](lnk.svg) ![A sender")
    said = loop.run_until_complete(lint([file], runner)).problems
    says = {problem.says: problem.cure for problem in said}
    assert "beside this file" in says["prompt: the image lnk.svg does not exist"]
    assert "between the brackets" in says["prompt: an image has no description"]


def test_the_front_page_is_checked_as_well(pack: Path) -> None:
    with (pack / "pack.yaml").open("a") as file:
        file.write("home: {title: Hello, opening: 'See [this](/nowhere).'}\n")
    (problem,) = problems_of_pack(pack)
    assert "home.opening: the link /nowhere is broken" in problem.says
    assert problem.cure


def test_what_is_no_pack_is_refused(pack: Path, runner: Runner, loop: asyncio.AbstractEventLoop) -> None:
    with pytest.raises(InputError, match=r"has no pack\.yaml; did you mean .*my_course"):
        checked(pack.parent, runner, loop)


def test_packs_are_listed_with_what_an_operator_agrees_to(
    pack: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("WALLCLOCK_EXERCISES", str(pack))
    capsys.readouterr()
    assert main(["pack", "list", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["name"], row["agreed"]) == ("my-course", False)
    monkeypatch.setenv("WALLCLOCK_PACK_CODE", f"my-course@{row['digest']}")
    assert main(["pack", "list"]) == 0
    assert "its formulas are loaded" in capsys.readouterr().out

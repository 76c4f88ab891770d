import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from app.__main__ import main
from app.core.errors import InputError
from app.core.folders import ROOT
from app.course.content.catalog import Catalog
from app.course.content.course import exercise_folders
from app.course.content.topic_file import TOPIC_FILE
from app.course.content.translations import (
    exercise_texts,
    is_translation,
    read_exercise,
    read_topic,
    topic_texts,
    translations_of,
)
from app.course.kinds import KINDS
from app.server.config import Settings
from tests.content.test_catalog import GOOD
from tests.each import each
from tests.waiting import HANGS

Capture = pytest.CaptureFixture[str]


@pytest.mark.slow(20)
def test_every_starting_file_is_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    for kind in KINDS:
        assert main(["new", kind, f"my-course/{kind.replace('_', '-')}"]) == 0
    assert (tmp_path / "exercises" / "my-course" / TOPIC_FILE).exists()
    capsys.readouterr()
    assert main(["lint", "exercises"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{len(KINDS)} exercise files, no problems" in said.err


@each("sample", [*(kind.sample for kind in KINDS.values()), "overlap/topic"])
def test_a_translation_begins_with_every_text_of_its_original(tmp_path: Path, sample: str) -> None:
    """It shows English until its digest counts; then it is complete."""
    topic, _, name = sample.partition("/")
    folder = tmp_path / sample / topic
    folder.mkdir(parents=True)
    for file in {f"{name}.yaml", "topic.yaml"}:
        (folder / file).write_bytes((ROOT / "exercises" / topic / file).read_bytes())
    path, made = folder / f"{name}.yaml", folder / f"{name}.de.yaml"
    assert main(["new", "translation", str(path), "--language", "de"]) == 0
    text = made.read_text("utf-8")
    texts = topic_texts(read_topic(path)[0]) if name == "topic" else exercise_texts(read_exercise(path, topic)[0])
    assert [one.is_fresh for one in translations_of(path, texts)] == [False]
    made.write_text(text.replace("# of:", "of:"), "utf-8")
    (whole,) = translations_of(path, texts)
    assert whole.is_fresh
    assert whole.texts == texts


def test_a_translation_is_never_written_over(tmp_path: Path, capsys: Capture) -> None:
    assert main(["new", "choice", "mine/one", "--into", str(tmp_path)]) == 0
    command = ["new", "translation", str(tmp_path / "mine" / "one.yaml"), "--language"]
    assert [main([*command, "de"]), main([*command, "de"])] == [0, 1]
    assert "already exists" in capsys.readouterr().err
    assert main([*command, "dee"]) == 1
    assert "did you mean 'de'?" in capsys.readouterr().err


def test_translations_of_several_files_are_begun_at_once(tmp_path: Path, capsys: Capture) -> None:
    names = ("one", "two")
    for name in names:
        assert main(["new", "choice", f"mine/{name}", "--into", str(tmp_path)]) == 0
    files = [str(tmp_path / "mine" / f"{name}.yaml") for name in names]
    assert main(["new", "translation", *files, "--language", "de"]) == 0
    assert sorted(path.name for path in tmp_path.rglob("*.de.yaml")) == ["one.de.yaml", "two.de.yaml"]
    assert main(["new", "choice", "mine/three", "mine/four", "--into", str(tmp_path)]) == 1
    assert "one at a time: 'mine/four' is a second name" in capsys.readouterr().err


def test_a_file_is_never_written_over(tmp_path: Path, capsys: Capture) -> None:
    assert main(["new", "choice", "mine/one", "--into", str(tmp_path)]) == 0
    path = tmp_path / "mine" / "one.yaml"
    path.write_text("work of an hour", encoding="utf-8")
    assert main(["new", "numeric", "mine/one", "--into", str(tmp_path)]) == 1
    assert "already exists" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == "work of an hour"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["numerical", "a/b"], "did you mean 'numeric'"),
        (["topic", "a/b"], "no kind"),
        (["numeric", "a"], "TOPIC/SLUG"),
        (["numeric", "../a/b"], "TOPIC/SLUG"),
        (["numeric", "A/b"], "TOPIC/SLUG"),
        (["numeric", "a/b/c"], "TOPIC/SLUG"),
    ],
)
def test_a_wrong_name_is_told(capsys: Capture, arguments: list[str], says: str) -> None:
    assert main(["new", *arguments]) == 1
    assert says in capsys.readouterr().err


@each("formulas", [True, False])
def test_a_pack_has_a_file_for_each_of_its_parts(tmp_path: Path, capsys: Capture, formulas: bool) -> None:
    more = ["--formulas"] if formulas else []
    into = tmp_path / ("formulas" if formulas else "plain")
    assert main(["new", "pack", "my-own-course", "--into", str(into), *more]) == 0
    folder = into / "my-own-course"
    package, chapter = "my_own_course", "my_own_course/exercises/my-own-course"
    files = ["pyproject.toml", "README.md", f"{package}/__init__.py", f"{package}/pack.yaml"]
    files += [f"{chapter}/{name}" for name in ("topic.yaml", "first.yaml", "link.svg")]
    files += [f"{package}/formulas/{name}" for name in ("example.py", "proofs.yaml")] if formulas else []
    found = capsys.readouterr()
    assert found.out.splitlines() == [str(folder / name) for name in files]
    assert {path for path in folder.rglob("*") if path.is_file()} == {folder / name for name in files}
    loads = "--load-formulas " if formulas else ""
    assert f"`wallclock pack check {loads}{folder / package}`" in found.err
    assert "My own course" in (folder / package / "pack.yaml").read_text()
    answer = f"{package}.transfer_time" if formulas else "size / bandwidth"
    assert f"answer: {answer}\n" in (folder / chapter / "first.yaml").read_text()


@each(("name", "is_one"), [("a", True), ("a" + 39 * "1", True), ("a" + 40 * "1", False), ("1a", False), ("a_b", False)])
def test_a_packs_name_begins_with_a_letter_and_has_at_most_40(tmp_path: Path, name: str, is_one: bool) -> None:
    assert main(["new", "pack", name, "--into", str(tmp_path)]) == (not is_one)
    assert (tmp_path / name).exists() is is_one


def test_a_file_goes_into_the_first_folder_of_the_settings_with_or_without_its_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALLCLOCK_EXERCISES", os.pathsep.join(f"{tmp_path}/{name}" for name in ("first", "second")))
    for name in ("mine/one.yaml", "mine/2-b"):
        assert main(["new", "choice", name]) == 0
    assert sorted(one.name for one in (tmp_path / "first" / "mine").iterdir()) == ["2-b.yaml", "one.yaml", "topic.yaml"]


@each(
    ("kind", "name", "says"),
    [
        ("numeric", "mine/first.yaml", "already exists"),
        ("numeric", "mine/First.yaml", "TOPIC/SLUG"),
        ("numeric", "mine/first.de.yaml", "TOPIC/SLUG"),
        ("numeric", "mine/topic.yaml", "TOPIC/SLUG"),
        ("numeric", "mine/second", "TOPIC/SLUG"),
        ("numeric", "Mine/second.yaml", "TOPIC/SLUG"),
        ("numerical", "mine/second.yaml", "did you mean 'numeric'"),
    ],
)
def test_a_preview_begins_a_new_file_and_no_other(
    tmp_path: Path, capsys: Capture, kind: str, name: str, says: str
) -> None:
    (tmp_path / "mine").mkdir(exist_ok=True)
    (tmp_path / "mine" / "first.yaml").touch()
    assert main(["preview", "--new", "--kind", kind, str(tmp_path / name)]) == 1
    assert says in capsys.readouterr().err


def test_a_preview_begins_with_the_starter_of_a_kind(tmp_path: Path) -> None:
    path = tmp_path / "my-course" / "first.yaml"
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "preview", "--new", "--kind", "choice", str(path), "--port", "0"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == f"Reading the course and {path} ...\n"
        assert re.search(r"http://127\.0\.0\.1:\d+/preview#key=[\w-]{24} ", process.stderr.readline())
        assert path.read_text().startswith("kind: choice")
        assert path.with_name("topic.yaml").exists()
    finally:
        process.terminate()
        process.wait(timeout=HANGS)
        if process.stderr:
            process.stderr.close()


def test_a_folder_adds_to_one_of_our_chapters(tmp_path: Path, capsys: Capture) -> None:
    assert main(["new", "numeric", "collectives/mine", "--into", str(tmp_path)]) == 0
    assert not (tmp_path / "collectives" / TOPIC_FILE).exists()
    catalog = Catalog.read([ROOT / "exercises", tmp_path])
    assert "collectives/mine" in catalog.by_id
    assert catalog.topic("collectives").title == "Ring all-reduce"
    assert main(["lint", str(tmp_path)]) == 0
    capsys.readouterr()
    (tmp_path / "collectives" / "bus-bandwidth.yaml").write_text(GOOD, encoding="utf-8")
    assert main(["lint", str(tmp_path)]) == 1
    assert "the exercise 'collectives/bus-bandwidth' already exists" in capsys.readouterr().out


def test_findings_are_there_for_programs(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "mine" / "one.yaml"
    path.parent.mkdir()
    path.write_text(GOOD.replace("level: 1\n", "levle: 1\n").replace("sources:", "sauces:"), encoding="utf-8")
    assert main(["lint", str(path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["files"] == 1
    says = {problem["says"] for problem in found["problems"]}
    assert "levle: is not known here; did you mean 'level'?" in says
    assert "sauces: is not known here; did you mean 'sources'?" in says
    missing = [p for p in found["problems"] if p["says"] == "sources: is missing"]
    assert missing[0]["cure"] == "it is one or more URLs"
    assert {problem["level"] for problem in found["problems"]} == {"error"}
    assert all(problem["cure"] for problem in found["problems"])


def test_the_schema_takes_every_file_and_refuses_what_lint_refuses(capsys: Capture) -> None:
    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    validator = jsonschema.Draft202012Validator(schema)
    for path in sorted((ROOT / "exercises").glob("*/*.yaml")):
        if path.name != TOPIC_FILE and not is_translation(path):
            values = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
            kind = schema["$defs"][schema["discriminator"]["mapping"][values["kind"]].split("/")[-1]]
            assert set(values) <= set(kind["properties"]), path
            assert set(kind["required"]) <= set(values), path
    good = yaml.safe_load(GOOD)
    validator.validate(good)
    (wrong_kind,) = validator.iter_errors({**good, "kind": "numerical"})
    assert "is not one of" in wrong_kind.message  # and not: numeric was expected
    assert "'choice'" in wrong_kind.message
    (unknown_key,) = validator.iter_errors({**good, "levle": 1})
    assert "'levle' was unexpected" in unknown_key.message  # by one kind, not by nine
    for wrong in ({**good, "levle": 1}, {**good, "level": 9}, {**good, "kind": "numerical"}):
        with pytest.raises(jsonschema.ValidationError):
            validator.validate(wrong)


def test_a_chapters_own_file_has_a_schema(capsys: Capture) -> None:
    assert main(["schema", "topic"]) == 0
    validator = jsonschema.Draft202012Validator(json.loads(capsys.readouterr().out))
    for path in sorted((ROOT / "exercises").rglob(TOPIC_FILE)):
        validator.validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    with pytest.raises(jsonschema.ValidationError, match="due"):
        validator.validate({**yaml.safe_load(path.read_text(encoding="utf-8")), "due": "today"})


@pytest.mark.parametrize(("name", "file"), [("pack", "pack.yaml"), ("proofs", "formulas/proofs.yaml")])
def test_the_files_of_a_pack_have_schemas(tmp_path: Path, capsys: Capture, name: str, file: str) -> None:
    assert main(["new", "pack", "mine", "--formulas", "--into", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["schema", name]) == 0
    validator = jsonschema.Draft202012Validator(json.loads(capsys.readouterr().out))
    written = yaml.safe_load((tmp_path / "mine" / "mine" / file).read_text(encoding="utf-8"))
    validator.validate(written)
    with pytest.raises(jsonschema.ValidationError, match="points"):
        validator.validate({**written, "points": 3})


def test_every_key_of_the_schema_is_explained(capsys: Capture) -> None:
    main(["schema"])
    schema = json.loads(capsys.readouterr().out)
    for name in schema["discriminator"]["mapping"].values():
        for key, said in schema["$defs"][name.split("/")[-1]]["properties"].items():
            told = {"title", "prompt", "hints", "kind", "label", "level"}
            assert key in told or said.get("description"), (name, key)


def test_an_installed_course_pack_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chapter = tmp_path / "my_course" / "exercises" / "mine"
    chapter.mkdir(parents=True)
    (tmp_path / "my_course" / "__init__.py").write_text("raise RuntimeError\n", encoding="utf-8")
    (chapter / "one.yaml").write_text(GOOD, encoding="utf-8")
    info = tmp_path / "my_course-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: my-course\nVersion: 1\n", encoding="utf-8")
    points = info / "entry_points.txt"
    points.write_text("[wallclock.exercises]\nmy-course = my_course\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert chapter.parent in exercise_folders(Settings())  # and its code was not run
    points.write_text("[wallclock.exercises]\nmy-course = your_course\n", encoding="utf-8")
    with pytest.raises(InputError, match="my-course.*your_course"):
        exercise_folders(Settings())


def test_the_source_of_an_installed_pack_is_linted_beside_the_course_without_what_was_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    for place in ("source", "installed"):
        chapter = tmp_path / place / "exercises" / "mine"
        chapter.mkdir(parents=True)
        (chapter / TOPIC_FILE).write_text((ROOT / "exercises" / "collectives" / TOPIC_FILE).read_text())
        (chapter / "one.yaml").write_text(GOOD, encoding="utf-8")
        (tmp_path / place / "pack.yaml").write_text('name: mine\ntitle: Mine\nversion: "1.0"\n', encoding="utf-8")
    monkeypatch.setenv("WALLCLOCK_EXERCISES", str(tmp_path / "installed"))
    for path in ("source", "source/exercises"):
        main(["lint", str(tmp_path / path)])
        assert "already exists" not in capsys.readouterr().out, path
    (tmp_path / "source" / "pack.yaml").write_text('name: yours\ntitle: Mine\nversion: "1.0"\n', encoding="utf-8")
    assert main(["lint", str(tmp_path / "source")]) == 1
    assert "the chapter 'mine' already exists" in capsys.readouterr().out

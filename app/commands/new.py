"""`wallclock new` writes a starter file, `wallclock schema` the JSON Schema of the files of a course."""

import json
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from app.authoring.starters import STARTERS, exercise_schema, write_missing_topic, write_starter
from app.commands.files import Commands
from app.core.errors import InputError, nearest
from app.core.folders import ROOT
from app.core.translation import LANGUAGES, SOURCE
from app.course.content import translations
from app.course.content.course import PACK_FILE, PackFile, ProofFile
from app.course.content.outline import COURSE_FILE, CourseFile
from app.course.content.topic_file import TOPIC_FILE, TopicFile
from app.course.kinds import Where
from app.server.config import Settings

_STARTER = ROOT / "templates" / "starters" / "pack"
_NEW_PACK_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_WORD = re.compile(r"\b[A-Z]{4,}\b")
_SIMPLE = "size / bandwidth"


def write_pack(arguments: Namespace) -> int:
    """Write the folder of a pack; print what was written and the next step."""
    name = arguments.name
    if not _NEW_PACK_NAME.fullmatch(name):
        raise InputError(
            f"a pack's name must be lowercase letters, digits and hyphens, and begin with a letter, not {name[:80]!r}"
        )
    folder = Path(arguments.into or ".") / name
    if folder.exists():
        raise InputError(f"{folder} already exists; nothing was changed")
    package = name.replace("-", "_")
    words = {
        "NAME": name,
        "PACKAGE": package,
        "TITLE": name.replace("-", " ").capitalize(),
        "VERSION": version("wallclock"),
        "ANSWER": f"{package}.transfer_time" if arguments.formulas else _SIMPLE,
    }
    try:
        for source, target in _files(name, package, formulas=arguments.formulas).items():
            path = folder / target
            path.parent.mkdir(parents=True, exist_ok=True)
            text = source.read_text(encoding="utf-8") if source else ""
            path.write_text(re.sub(r"\b[A-Z]{4,}\b", lambda w: words.get(w[0], w[0]), text), "utf-8")
            sys.stdout.write(f"{path}\n")
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from error
    check = f"wallclock pack check {'--load-formulas ' if arguments.formulas else ''}"
    sys.stderr.write(f"Prove it with `{check}{folder / package}`.\n")
    return 0


def _files(name: str, package: str, *, formulas: bool) -> dict[Path | None, str]:
    """Each starter, and where it goes."""
    chapter = f"{package}/exercises/{name}"
    files: dict[Path | None, str] = {
        _STARTER / "pyproject.toml": "pyproject.toml",
        _STARTER / "README.md": "README.md",
        None: f"{package}/__init__.py",
        _STARTER / "pack.yaml": f"{package}/pack.yaml",
        _STARTER.parent / "topic.yaml": f"{chapter}/topic.yaml",
        _STARTER / "exercises" / "first.yaml": f"{chapter}/first.yaml",
        _STARTER / "exercises" / "link.svg": f"{chapter}/link.svg",
    }
    if formulas:
        for source in ("example.py", "proofs.yaml"):
            files[_STARTER / "formulas" / source] = f"{package}/formulas/{source}"
    return files


_HEAD = """\
# A translation of {name}: translate every text, and keep each {{value}} in it. Until the next line
# has no # in front of it, the page shows English.
# of: "{digest}"
"""


def write_translation(path: Path, language: str | None) -> None:
    """Write NAME.LANGUAGE.yaml beside the file at *path*, with its texts.

    Raises:
        ContentError: the file is not valid.
        InputError: the language does not exist, or the translation already does.
    """
    known = [code for code in LANGUAGES if code != SOURCE]
    if language not in known:
        near = nearest(language or "", known)
        raise InputError(f"name the language with --language: {', '.join(known)}{near}")
    if path.name == TOPIC_FILE:
        topic, document = translations.read_topic(path)
        texts = translations.topic_texts(topic)
    else:
        exercise, document = translations.read_exercise(path, translations.topic_of(path))
        texts = translations.exercise_texts(exercise)
    target = path.with_suffix(f".{language}{path.suffix}")
    head = _HEAD.format(name=path.name, digest=translations.texts_digest(texts))
    chosen = chosen_texts(document.values, texts)
    add_implied_texts(chosen, texts)
    body = yaml.safe_dump(chosen, sort_keys=False, allow_unicode=True, width=100)
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(head + body)
    except FileExistsError:
        raise InputError(f"{target} already exists; nothing was changed") from None
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from error
    sys.stdout.write(f"{target}\n")
    sys.stderr.write(f"Translate it, remove the # before `of`, and run `wallclock lint {path}`.\n")


def chosen_texts(values: object, texts: Mapping[Where, str], where: Where = ()) -> object:
    """The part of *values*, which are at *where*, that leads to *texts*."""
    if where in texts:
        return texts[where]
    if isinstance(values, list):
        return [chosen_texts(value, texts, (*where, place)) for place, value in enumerate(values)]
    if not isinstance(values, Mapping):
        return None
    inside = {key: chosen_texts(value, texts, (*where, key)) for key, value in values.items()}
    return {key: value for key, value in inside.items() if _has_text(value)}


def add_implied_texts(chosen: Any, texts: Mapping[Where, str]) -> None:
    """Add to *chosen* those of *texts* that its file leaves out, as the names of parts are."""
    for where, text in texts.items():
        inner = chosen
        for key in where[:-1]:
            inner = inner.setdefault(key, {}) if isinstance(inner, dict) else inner[key]
        if isinstance(inner, dict):
            inner.setdefault(where[-1], text)


def _has_text(value: object) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_text, value.values() if isinstance(value, dict) else value))
    return value is not None


_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


def add_new_options(parser: ArgumentParser) -> None:
    """The options of `wallclock new`."""
    parser.add_argument(
        "kind", metavar="KIND", help="the kind: numeric, choice, function, ...; or pack, or translation"
    )
    parser.add_argument(
        "name",
        metavar="TOPIC/SLUG",
        nargs="+",
        help="the chapter and the name, such as collectives/my-exercise; of a pack, its name; "
        "of a translation, the files that are translated",
    )
    parser.add_argument("--into", metavar="DIR", help="the folder of chapters (default: ./exercises), or of the pack")
    parser.add_argument("--language", metavar="CODE", help="with translation: the language, such as de")
    parser.add_argument("--formulas", action="store_true", help="with pack: also write a formula of its own")


def run_new(arguments: Namespace) -> int:
    """Write the file, and a `topic.yaml` if the chapter is new; print the next step."""
    if arguments.kind == "translation":
        for name in arguments.name:
            write_translation(Path(name), arguments.language)
        return 0
    arguments.name, *others = arguments.name
    if others:
        raise InputError(f"one at a time: {others[0][:80]!r} is a second name")
    if arguments.kind == "pack":
        return write_pack(arguments)
    folder = Path(arguments.into) if arguments.into else next(iter(Settings().exercises), Path("exercises"))
    path = folder / f"{arguments.name.removesuffix('.yaml')}.yaml"
    begin_exercise(arguments.kind, path, arguments.name)
    sys.stderr.write(f"Edit it while `wallclock preview {path}` shows it.\n")
    return 0


def begin_exercise(kind: str, path: Path, name: str = "") -> None:
    """Write a starter of a *kind* at *path*, and the file of its chapter if that is new; print what was written.

    Raises:
        InputError: *kind* is unknown, *name* or *path* does not end in TOPIC/SLUG, or the file exists.
    """
    kinds = sorted(one.stem for one in STARTERS.glob("*.yaml") if one.name != TOPIC_FILE)
    if kind not in kinds:
        raise InputError(f"no kind is called {kind!r}: {', '.join(kinds)}{nearest(kind, kinds)}")
    whole = path.absolute()
    called = name.removesuffix(".yaml") or f"{whole.parent.name}/{whole.stem}"
    is_file = path.suffix == ".yaml" and path.name not in (TOPIC_FILE, PACK_FILE, COURSE_FILE)
    if not is_file or [bool(_NAME.fullmatch(one)) for one in called.split("/")] != [True, True]:
        says = "TOPIC/SLUG in lowercase letters, digits and hyphens"
        raise InputError(f"a name must be {says}, not {(name or str(path))[:80]!r}")
    for made in (write_starter(path, f"{kind}.yaml", path.stem), *write_missing_topic(path.parent)):
        sys.stdout.write(f"{made}\n")


_MODELS: dict[str, type[BaseModel]] = {"topic": TopicFile, "pack": PackFile, "proofs": ProofFile, "course": CourseFile}


def add_schema_options(parser: ArgumentParser) -> None:
    """The options of `wallclock schema`."""
    parser.add_argument(
        "file",
        nargs="?",
        choices=("exercise", *_MODELS),
        default="exercise",
        help="exercise files, the topic.yaml of a chapter, the pack.yaml of a course pack, the "
        "proofs.yaml of its formulas, or the course.yaml with its outline (default: exercise)",
    )


def run_schema(arguments: Namespace) -> int:
    """Print the JSON Schema."""
    model = _MODELS.get(arguments.file)
    schema = model.model_json_schema() if model else exercise_schema()
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    sys.stdout.write(json.dumps(schema, indent=1, ensure_ascii=False) + "\n")
    return 0


COMMANDS: Commands = {"new": (add_new_options, run_new), "schema": (add_schema_options, run_schema)}

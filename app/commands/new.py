"""`wallclock new`: write a starter file."""

import re
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from app.authoring.starters import STARTERS, write_missing_topic, write_starter
from app.commands.new_pack import write_pack
from app.commands.new_translation import write_translation
from app.core.errors import InputError, nearest
from app.course.content.topic_file import TOPIC_FILE
from app.server.config import Settings

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock new`."""
    parser.add_argument(
        "kind", metavar="KIND", help="the kind: numeric, choice, function, ...; or pack, or translation"
    )
    parser.add_argument(
        "name",
        metavar="TOPIC/SLUG",
        help="the chapter and the name, such as collectives/my-exercise; of a pack, its name; "
        "of a translation, the file that is translated",
    )
    parser.add_argument("--into", metavar="DIR", help="the folder of chapters (default: ./exercises), or of the pack")
    parser.add_argument("--language", metavar="CODE", help="with translation: the language, such as de")
    parser.add_argument("--formulas", action="store_true", help="with pack: also write a formula of its own")


def run(arguments: Namespace) -> int:
    """Write the file, and a `topic.yaml` if the chapter is new; print the next step."""
    if arguments.kind == "pack":
        return write_pack(arguments)
    if arguments.kind == "translation":
        return write_translation(arguments)
    kinds = sorted(path.stem for path in STARTERS.glob("*.yaml") if path.name != TOPIC_FILE)
    if arguments.kind not in kinds:
        near = nearest(arguments.kind, kinds)
        raise InputError(f"no kind is called {arguments.kind!r}: {', '.join(kinds)}{near}")
    topic, slug = _names(arguments.name)
    folder = _folder(arguments.into) / topic
    path = folder / f"{slug}.yaml"
    written = [write_starter(path, f"{arguments.kind}.yaml", slug), *write_missing_topic(folder)]
    for made in written:
        sys.stdout.write(f"{made}\n")
    sys.stderr.write(f"Edit it while `wallclock preview {path}` shows it.\n")
    return 0


def _names(name: str) -> tuple[str, str]:
    topic, slash, slug = name.removesuffix(".yaml").partition("/")
    if not (slash and _NAME.fullmatch(topic) and _NAME.fullmatch(slug)):
        raise InputError(f"a name must be TOPIC/SLUG in lowercase letters, digits and hyphens, not {name[:80]!r}")
    return topic, slug


def _folder(into: str | None) -> Path:
    """The folder of chapters: *into*, or the first of the settings, or ./exercises."""
    if into:
        return Path(into)
    folders = Settings().exercises
    return folders[0] if folders else Path("exercises")

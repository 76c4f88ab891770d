"""Names: one word for one thing, and nouns for modules. The exceptions may only become fewer."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from app.core.folders import ROOT

APP = ROOT / "app"
# They stand in for others, under the names of those.
STAND_INS = APP / "exporting" / "browser"
# A type of a formula's result is known to its readers by its name.
TYPES_TWICE = {"Optimum"}
# What a protocol calls by its name, and formulas, whose names are theirs for good.
PROTOCOLS = {"main", "run", "add_options"}
FUNCTIONS_TWICE = {"critical_batch", "check"}  # a notebook's `check` asks what a server's answers
# Nouns of the field that end as participles do; a command is called after what one types.
NOUNS = {"batching", "ceiling", "learning", "ranking", "ring", "routing", "sampling", "scaling", "serving", "sharding"}
OTHERS = {"measured", "running", "templating"}
NO_NOUNS = re.compile(
    r"about|above|after|apart|around|aside|before|behind|below|beside|between|beyond|due|else"
    r"|elsewhere|given|here|me|meanwhile|mine|onward|ours|past|since|there|theirs|through|until|ways"
)
# One word that says how a thing came about or whose it is, not what it is.
PARTICIPLE = re.compile(
    r"\w+ed|\w+ing|begun|beyond|broke|due|given|held|hidden|kept|known|left|made|mine|once|ours|ran|read|said|seen|sent"
    r"|shown|sought|spent|spoken|stale|taken|theirs|told|tried|underway|unread|unsent|whose|written"
    r"|\w*(?:drawn|written|broken)|me|since|under|within|without"
)
TYPES_MOST, FUNCTIONS_MOST = 5, 11
# Nouns that end as participles do, and a verb.
NOUN_TYPES = {
    "Drawing", "Finding", "Listing", "Opening", "Paging", "Ranking", "Reading", "Resharding", "Sampling",
    "Sharding", "Sitting", "Standing", "Thing", "_Reading",
}  # fmt: skip
NOUN_FUNCTIONS = {"meaning", "read", "ring", "spacing", "spelling"}
PRIVATE_MOST = 6  # modules that have a private helper of the same name; a lab's worker is read alone


def modules() -> Iterator[Path]:
    for path in sorted(APP.rglob("*.py")):
        if not path.is_relative_to(STAND_INS):
            yield path


def definitions(kind: type | tuple[type, ...]) -> dict[str, list[Path]]:
    """The modules that define something of *kind* at their top, by its name."""
    found = defaultdict(list)
    for path in modules():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, kind):
                found[node.name].append(path)  # type: ignore[attr-defined]
    return found


FUNCTIONS = definitions((ast.FunctionDef, ast.AsyncFunctionDef))


def twice(found: dict[str, list[Path]]) -> set[str]:
    return {name for name, paths in found.items() if len(paths) > 1}


def test_a_type_has_one_meaning() -> None:
    assert twice(definitions(ast.ClassDef)) == TYPES_TWICE


def test_a_public_function_has_one_meaning() -> None:
    public = {name: paths for name, paths in FUNCTIONS.items() if not name.startswith("_")}
    assert twice(public) - PROTOCOLS == FUNCTIONS_TWICE


def bare_participles(names: Iterable[str]) -> set[str]:
    return {name for name in names if PARTICIPLE.fullmatch(name.strip("_").lower()) and "_" not in name.strip("_")}


def test_a_type_is_a_noun() -> None:
    words = [name for name in definitions(ast.ClassDef) if re.fullmatch(r"_?[A-Z][a-z]+", name)]
    assert len(bare_participles(words) - NOUN_TYPES) <= TYPES_MOST


def test_a_public_function_is_a_verb_or_a_quantity() -> None:
    public = [name for name in FUNCTIONS if not name.startswith("_")]
    assert len(bare_participles(public) - NOUN_FUNCTIONS) <= FUNCTIONS_MOST


def test_a_module_is_a_noun() -> None:
    bare = {path.stem for path in modules() if re.fullmatch(r"[a-z]+(ing|ed)", path.stem)}
    assert bare - NOUNS == OTHERS
    assert {path.stem for path in modules() if NO_NOUNS.fullmatch(path.stem)} == set()


def test_a_private_helper_says_of_what() -> None:
    private = {name: paths for name, paths in FUNCTIONS.items() if name.startswith("_")}
    shared = {name: [path for path in paths if path.name != "worker.py"] for name, paths in private.items()}
    assert {name for name, paths in shared.items() if len(paths) > PRIVATE_MOST} == set()


def test_the_way_of_a_request_is_drawn_as_it_is() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.partition("## One request")[2].partition("\n## ")[0]
    names = re.findall(r"`((?:\w+\.)+\w+)`", section)
    assert len(names) >= 20
    for name in names:
        if name.endswith(".py"):
            continue
        module, _, last = f"app.{name}".rpartition(".")
        try:
            found = import_module(f"app.{name}")
        except ModuleNotFoundError:
            found = getattr(import_module(module), last)
        assert found
    for path in re.findall(r"`([\w/]+\.py)`", section):
        assert (APP / path).is_file(), path

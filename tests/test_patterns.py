"""No regular expression of the app takes long, whatever text it gets: each is linear."""

import ast
import gc
import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator
from functools import cache, partial
from itertools import chain
from time import process_time
from types import CellType, FunctionType, MappingProxyType, ModuleType
from typing import Any

import pytest

import app
from app.core.folders import ROOT

SIZE, SECONDS, TRIES = 2_400, 0.03, 5
SIGNS = "- a0.:=_[{\n\t\"'/$*<&|,#"
WORD = re.compile(r"[A-Za-z_]{3,}")
CALLS = {"compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"}
CONTAINERS = (dict, list, tuple, set, frozenset, MappingProxyType, partial, CellType, type(cache(len)))
# Needs what a server does not have, or does something when it is imported: its literals are looked at.
NOT_IMPORTED = re.compile(r"\.(?:__main__|guest|browser|ranks|library|worker|program|bundle)\b")
Patterns = dict[tuple[str | bytes, int], tuple[str, "re.Pattern[Any]"]]


def patterns_of_modules(modules: Iterable[ModuleType]) -> Iterator[tuple[str, "re.Pattern[Any]"]]:
    """The patterns that *modules* hold, in whatever they hold, and the name of the module."""
    seen = {id(vars(module)) for module in modules}
    for module in modules:
        left: list[object] = list(vars(module).values())
        while left:
            one = left.pop()
            if id(one) in seen:
                continue
            if isinstance(one, re.Pattern):
                yield module.__name__, one
            elif isinstance(one, CONTAINERS) or is_ours(one if isinstance(one, type | FunctionType) else type(one)):
                seen.add(id(one))
                left += gc.get_referents(one)


def is_ours(kind: object) -> bool:
    return str(getattr(kind, "__module__", "")).startswith("app.")


def patterns_of_source(source: str) -> Iterator["re.Pattern[Any]"]:
    """The patterns that are written in calls of `re`, also inside functions."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=name), args=[ast.Constant(value=text), *rest]
            ):
                if name in CALLS and isinstance(text, str | bytes):
                    flags = (
                        [*rest[:1], *(k.value for k in node.keywords if k.arg == "flags")] if name == "compile" else []
                    )
                    yield re.compile(text, sum(eval(ast.unparse(flag), {"re": re}) for flag in flags))


def patterns_of_app() -> Patterns:
    names = [found.name for found in pkgutil.walk_packages(app.__path__, "app.", onerror=lambda _: None)]
    modules = [importlib.import_module(name) for name in names if not NOT_IMPORTED.search(name)]
    sources = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "app").rglob("*.py"))}
    written = ((str(path.relative_to(ROOT)), one) for path, text in sources.items() for one in patterns_of_source(text))
    return {(one.pattern, one.flags): (name, one) for name, one in chain(written, patterns_of_modules(modules))}


def hostile_texts(pattern: str) -> Iterator[str]:
    """Texts of two parts, of signs and words that *pattern* has and of others, and an end that fits nothing."""
    own = [sign for sign in re.sub(r"\\.|\w", "", pattern) if sign.isprintable()]
    for sign in dict.fromkeys([*SIGNS, *own[:10]]):
        yield sign * SIZE
        yield f"x{sign * SIZE}\0"
        yield f"x{chr(10) * (SIZE // 3)}{sign * (SIZE * 2 // 3)}\0"
        for piece in (f"\n{sign}", f"\n{sign * 20}", f"a{sign}", f"a {sign} "):
            yield piece * (SIZE // len(piece))
        yield f"{sign}{' ' * SIZE}x"
    for word in WORD.findall(re.sub(r"\\[a-zA-Z]", " ", pattern))[:4]:
        for piece in (word, f"{word} ", f"{word}=1 ", f"{word}\n"):
            yield piece * (SIZE // len(piece))
        yield f"{word} {'0' * SIZE}"
        yield f"{word}{' ' * SIZE}x"


def dearest_text(pattern: "re.Pattern[Any]") -> tuple[float, str]:
    """The seconds of processor time for the text that *pattern* takes longest for, and how it begins."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    worst = 0.0, ""
    for text in hostile_texts(source):
        given: Any = text if isinstance(pattern.pattern, str) else text.encode("latin-1", "replace")
        worst = max(worst, (least_seconds(pattern, given), repr(text[:8] + text[-8:])))
        if worst[0] > SECONDS:
            break
    return worst


def least_seconds(pattern: "re.Pattern[Any]", text: Any) -> float:
    """The least of a few tries: other processes may slow down one of them."""
    least = float("inf")
    for _ in range(TRIES):
        begin = process_time()
        for _ in pattern.finditer(text):
            pass
        pattern.fullmatch(text)
        least = min(least, process_time() - begin)
        if least < SECONDS:
            break
    return least


@pytest.mark.sweep
@pytest.mark.slow(120)
def test_every_pattern_is_fast_on_hostile_texts() -> None:
    patterns = patterns_of_app()
    assert len(patterns) > 400
    slow = {}
    for name, one in patterns.values():
        seconds, text = dearest_text(one)
        if seconds > SECONDS:
            slow[f"{name} {one.pattern!r:.120}"] = f"{seconds:.3f} s for {text}"
    assert slow == {}, "make them linear: possessive quantifiers, and a lookbehind that starts a run once"


def test_a_pattern_that_is_not_linear_is_found() -> None:
    for slow in (r"(\d+)((?:\.\d+)?) ?(\D.*)", r"[^\W_]+(?:-[^\W_]+)+", rb"\s*(?:/|\bper\b)\s*(?:s|secs?)$"):
        assert dearest_text(re.compile(slow))[0] > SECONDS, slow
    assert dearest_text(re.compile(r"(?<![^\W_])[^\W_]++(?:-[^\W_]++)+"))[0] < SECONDS


def test_patterns_are_found_wherever_they_are_held() -> None:
    wanted = [re.compile(f"pattern {number}") for number in range(6)]
    module = ModuleType("app.example")

    @cache
    def remembered(number: int) -> "re.Pattern[str]":
        return wanted[number]

    def closed(inner: "re.Pattern[str]" = wanted[1]) -> object:
        return inner

    closed.__module__ = module.__name__
    module.__dict__.update(alone=wanted[0], closed=closed, nested={"x": [(wanted[2],)]}, remembered=remembered)
    remembered(3)
    assert {one for _, one in patterns_of_modules([module])} >= set(wanted[:4])
    source = "import re\ndef f(x):\n    re.sub(r'pattern 4', '', x)\nA = re.compile(b'pattern 5', re.DOTALL | re.M)"
    found = {(one.pattern, one.flags & (re.DOTALL | re.MULTILINE)) for one in patterns_of_source(source)}
    assert found == {("pattern 4", 0), (b"pattern 5", re.DOTALL | re.MULTILINE)}

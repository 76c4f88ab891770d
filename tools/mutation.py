"""Small faults in a module, one at a time: which of them do the nearest tests not see?

    python -m tools.mutation app/classes/people/policy.py [--tests FILE ...] [--sample N] [--seed N]

The tests are collected once. Each mutant runs in a process forked from there, whose functions have the
mutant's code, with only those tests that call the function that it changes. What a survivor shows is
tested, or deleted. Defaults of arguments and fields of classes are not mutated.
"""

import argparse
import ast
import gc
import json
import os
import random
import re
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest

from app.core.folders import ROOT

_ROOM = 10.0  # seconds that a mutant may take beyond four times what its tests take
_OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Break: ast.Continue,
    ast.Continue: ast.Break,
}
_CACHED: type[Any] = type(cache(len))
_OTHER_CALL = {"min": "max", "max": "min", "any": "all", "all": "any"}
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_NEVER_CHANGED = frozenset(("annotation", "decorator_list", "returns"))


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: *new* is put in the *place* of what is there in *node*."""

    node: ast.AST
    place: tuple[str, int | None]
    new: ast.AST
    line: int
    function: str  # its qualified name; "" for a constant of the module
    constant: ast.Assign | ast.AnnAssign | None
    text: str

    def make(self) -> None:
        """Change the tree."""
        name, index = self.place
        if index is None:
            setattr(self.node, name, self.new)
        else:
            getattr(self.node, name)[index] = self.new


@dataclass(slots=True)
class Place:
    """Where a walk is: in which function, or in which constant of the module."""

    function: str = ""
    prefix: str = ""
    constant: ast.Assign | ast.AnnAssign | None = None


def mutants(tree: ast.Module) -> Iterator[Mutant]:
    """Every mutant of what is in functions, and of the constants of the module."""
    for node in tree.body:
        if isinstance(node, _FUNCTIONS | ast.ClassDef):
            yield from _in_definition(node, Place())
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _constant_name(node):
            yield from _inside(node, Place(constant=node), ("value",))


def _in_definition(node: ast.AST, at: Place) -> Iterator[Mutant]:
    if isinstance(node, ast.ClassDef):
        for one in node.body:
            if isinstance(one, _FUNCTIONS | ast.ClassDef):
                yield from _in_definition(one, Place(prefix=f"{at.prefix}{node.name}."))
        return
    assert isinstance(node, _FUNCTIONS)
    name = f"{at.prefix}{getattr(node, 'name', '<lambda>')}"
    # A mutant of a function in a function is one of the outer: that is the one which is replaced.
    yield from _inside(node, Place(at.function or name, f"{name}.<locals>.", at.constant), ("body",))


def _inside(node: ast.AST, at: Place, fields: tuple[str, ...] = ()) -> Iterator[Mutant]:
    for name in fields or node._fields:
        if name in _NEVER_CHANGED or isinstance(node, ast.JoinedStr):
            continue
        value = getattr(node, name, None)
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _is_docstring(child):
                continue
            for new in _changed(child):
                before, after = (ast.unparse(one) or type(one).__name__ for one in (_line_of(node, child), new))
                if isinstance(child, ast.operator | ast.cmpop | ast.boolop):
                    before, after = ast.unparse(node), f"with {type(new).__name__}"
                line = getattr(child, "lineno", getattr(node, "lineno", 0))
                yield Mutant(node, (name, index), new, line, at.function, at.constant, _short(f"{before}  →  {after}"))
            inner = _in_definition(child, at) if isinstance(child, _FUNCTIONS | ast.ClassDef) else _inside(child, at)
            yield from inner


def _line_of(node: ast.AST, child: ast.AST) -> ast.AST:
    return child if not isinstance(child, ast.Constant) or isinstance(node, ast.stmt) else node


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) < 150 else f"{text[:95]} … {text[-50:]}"


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _changed(node: ast.AST) -> Iterator[ast.AST]:
    """What is tried in the place of *node*."""
    if other := _OTHER.get(type(node)):
        yield _copied(other(), node)
    match node:
        case ast.Constant(value=bool(value)):
            yield _copied(ast.Constant(not value), node)
        case ast.Constant(value=int() | float() as value):
            yield _copied(ast.Constant(value + 1), node)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign():
            yield _copied(ast.Pass(), node)
        case ast.Call(func=ast.Name(id=name), args=args) if name in _OTHER_CALL:
            yield _copied(ast.Call(_copied(ast.Name(_OTHER_CALL[name], ast.Load()), node), args, node.keywords), node)
    yield from _one_branch(node)


def _one_branch(node: ast.AST) -> Iterator[ast.AST]:
    """*node* with one of its branches alone, if it has two."""
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            yield body
            yield orelse
        case ast.If(body=body, orelse=orelse, test=test):
            for always in (True, False):
                yield _copied(ast.If(_copied(ast.Constant(always), test), body, orelse), node)
        case ast.comprehension(ifs=[_, *_]):
            yield ast.comprehension(node.target, node.iter, [], node.is_async)


def _copied(new: Any, old: ast.AST) -> Any:
    return ast.copy_location(new, old)


def _constant_name(node: ast.Assign | ast.AnnAssign) -> str:
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    return target.id if isinstance(target, ast.Name) and target.id.isupper() else ""


def nearest_tests(path: Path) -> list[str]:
    """The files of tests that bear the module's name or, in its folder, import it; else those that import it.

    Where none does, those that have its name in theirs.
    """
    dotted = ".".join(path.with_suffix("").parts)
    of, _, stem = dotted.rpartition(".")
    names_it = rf"from {of} import (?:\([^)]*|[^\n]*)\b{stem}\b"
    imports = re.compile(rf"^(from {dotted} import|import {dotted}\b|{names_it})", re.MULTILINE)
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    found = [file for file in files if imports.search(file.read_text(encoding="utf-8"))]
    mirrors = (ROOT.joinpath("tests", *path.parent.parts[2:depth]) for depth in range(len(path.parent.parts), 1, -1))
    mirror = next(folder for folder in mirrors if folder.is_dir())
    names = {f"test_{stem}"} if mirror == ROOT / "tests" else {f"test_{stem}", f"test_{path.parent.name}"}
    near = [file for file in files if file.is_relative_to(mirror) and (file in found or file.stem in names)]
    chosen = [*near, *(file for file in found if file.stem in names and file not in near)] or found
    # A page is tested by its address, and no test imports it.
    chosen = chosen or [file for file in files if stem.removesuffix("s") in file.stem]
    return [str(file.relative_to(ROOT)) for file in chosen]


@dataclass
class Run:
    """Runs the mutants in the place of the tests."""

    path: Path
    sample: int
    seed: int
    reached: dict[str, set[str]] = field(default_factory=dict)  # by test: functions of the module
    seconds: dict[str, float] = field(default_factory=dict)  # by test that passes
    counted: Counter[str] = field(default_factory=Counter)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try each mutant."""
        self._look(session)
        import_module(".".join(self.path.with_suffix("").parts).removesuffix(".__init__"))
        source = self.path.read_text(encoding="utf-8")
        found = list(mutants(ast.parse(source)))
        chosen = list(range(len(found)))
        if self.sample and self.sample < len(chosen):
            chosen = sorted(random.Random(self.seed).sample(chosen, self.sample))
        tests = f"{len(self.seconds)} of {len(session.items)} tests"
        _say(f"{self.path}: {len(chosen)} of {len(found)} mutants, {tests} pass")
        for number in chosen:
            tree = ast.parse(source)
            mutant = list(mutants(tree))[number]
            outcome = self._tried(session, tree, mutant)
            self.counted[outcome] += 1
            if outcome in {"survived", "not reached"}:
                _say(f"{self.path}:{mutant.line}: {outcome}: {mutant.text}")
        _say(f"{self.path}: {', '.join(f'{count} {name}' for name, count in sorted(self.counted.items()))}")
        return True

    def _look(self, session: pytest.Session) -> None:
        """Run the tests once, and note which functions of the module each calls."""
        read, write = os.pipe()

        def run() -> int:
            calls: list[set[str]] = [set()]
            _trace(self.path, calls)
            for item, following in zip(session.items, [*session.items[1:], None], strict=True):
                for one in _own_caches(self.path):
                    one.cache_clear()  # so that each test that needs a function is seen to call it
                calls.append(set())
                failed, begin = session.testsfailed, time.perf_counter()
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                took = time.perf_counter() - begin
                if session.testsfailed == failed:
                    line = json.dumps([item.nodeid, took, sorted(calls[-1])])
                    os.write(write, f"{line}\n".encode())
            return 0

        pid = _forked(run, close=read)
        os.close(write)
        with os.fdopen(read, encoding="utf-8") as lines:
            for line in lines:
                test, took, calls = json.loads(line)
                self.reached[test], self.seconds[test] = set(calls), took
        _ended(pid, 600)

    def _tried(self, session: pytest.Session, tree: ast.Module, mutant: Mutant) -> str:
        functions = {mutant.function} if mutant.function else _users(tree, mutant.constant)
        items = [item for item in session.items if functions & self.reached.get(item.nodeid, set())]
        if not items:
            return "not reached"
        mutant.make()
        try:
            code = compile(ast.fix_missing_locations(tree), str(self.path.resolve()), "exec")
        except (SyntaxError, ValueError):
            return "no program"

        def run() -> int:
            if not (_replaced(code) if mutant.function else _assigned(self.path, mutant.constant)):
                return 2
            for item, following in zip(items, [*items[1:], None], strict=True):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if session.testsfailed:
                    return 1
            return 0

        limit = _ROOM + 4 * sum(self.seconds[item.nodeid] for item in items)
        return {0: "survived", 1: "caught", 2: "no program"}.get(_ended(_forked(run), limit), "caught by time")


def _trace(path: Path, calls: list[set[str]]) -> None:
    """Note in the last one of *calls* what is called, also by threads that an earlier test has started."""
    file = str(path.resolve())

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename == file:
            calls[-1].add(frame.f_code.co_qualname.partition(".<locals>")[0])

    threading.setprofile(note)
    sys.setprofile(note)


def _forked(run: Callable[[], int], close: int = -1) -> int:
    """The ID of a process of its own that exits with what *run* returns, silently."""
    pid = os.fork()
    if pid:
        return pid
    os.setpgid(0, 0)
    if close >= 0:
        os.close(close)
    silence = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(silence, number)
    status = 3
    with suppress(BaseException):
        status = run()
    os._exit(status)


def _ended(pid: int, seconds: float) -> int:
    """The status with which a process ended; -1 if it did not within *seconds*."""
    status, until = -1, time.monotonic() + seconds
    while time.monotonic() < until:
        done, code = os.waitpid(pid, os.WNOHANG)
        if done:
            status = os.waitstatus_to_exitcode(code)
            break
        time.sleep(0.02)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)  # with the servers that its tests began
    if status == -1:
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)
    return status


def _replaced(code: CodeType) -> bool:
    """Whether functions got the mutant's code."""
    codes = {(one.co_qualname, one.co_firstlineno): one for one in _codes(code)}
    gc.unfreeze()  # what the collector of garbage sees is no longer frozen
    functions = [one for one in gc.get_objects() if isinstance(one, FunctionType)]
    count = 0
    for one in functions:
        if one.__code__.co_filename == code.co_filename:
            new = codes.get((one.__code__.co_qualname, one.__code__.co_firstlineno))
            if new is not None and new.co_freevars == one.__code__.co_freevars:
                one.__code__ = new
                count += 1
    _forget()
    return count > 0


def _codes(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _codes(one)


def _assigned(path: Path, statement: ast.Assign | ast.AnnAssign | None) -> bool:
    """Whether a constant got the mutant's value, wherever it was imported."""
    assert statement is not None
    name = _constant_name(statement)
    module = _module(path)
    if module is None:
        return False
    old = getattr(module, name)
    exec(compile(ast.fix_missing_locations(ast.Module([statement], [])), str(path), "exec"), vars(module))
    for one in list(sys.modules.values()):
        if vars(one).get(name) is old if hasattr(one, "__dict__") else False:
            setattr(one, name, getattr(module, name))
    _forget()
    return True


def _users(tree: ast.Module, statement: ast.Assign | ast.AnnAssign | None) -> set[str]:
    """The functions that name a constant of the module; all of them if none does."""
    assert statement is not None
    name, every = _constant_name(statement), defaultdict(set)
    for node in tree.body:
        scopes = [node] if isinstance(node, _FUNCTIONS) else getattr(node, "body", [])
        for one in scopes:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                qualified = f"{node.name}.{one.name}" if isinstance(node, ast.ClassDef) else one.name
                every[qualified] = {n.id for n in ast.walk(one) if isinstance(n, ast.Name)}
    return {function for function, names in every.items() if name in names} or set(every)


def _own_caches(path: Path) -> Iterator[Any]:
    """The functions of the module that remember what they returned."""
    if module := _module(path):
        for owner in (module, *(one for one in vars(module).values() if isinstance(one, type))):
            yield from (one for one in vars(owner).values() if type(one) is _CACHED)


def _module(path: Path) -> ModuleType | None:
    return next((one for one in sys.modules.values() if getattr(one, "__file__", "") == str(path.resolve())), None)


def _forget() -> None:
    """What was worked out before the change is not remembered."""
    for one in gc.get_objects():
        if type(one) is _CACHED:
            one.cache_clear()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Print what survives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", type=Path)
    parser.add_argument("--tests", nargs="+", help="instead of those that bear the module's name or import it")
    parser.add_argument("--sample", type=int, default=0, help="mutants per module; all, if not given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slow", action="store_true", help="with the slow tests, which what starts programs needs")
    options = parser.parse_args()
    for path in options.modules:
        tests = options.tests or nearest_tests(path)
        _say(f"{path}: {' '.join(tests) or 'no test bears its name or imports it: name some with --tests'}")
        if not tests:
            continue
        with TemporaryDirectory(prefix="mutation-") as folder:
            kept = [f"--basetemp={folder}/tests", "-p", "no:cacheprovider"]
            run = Run(path, options.sample, options.seed)
            marks = "not sweep" if options.slow else "not slow and not sweep"
            pytest.main([*tests, *kept, "-s", "-q", "-m", marks], plugins=[run])
    return 0


if __name__ == "__main__":
    sys.exit(main())

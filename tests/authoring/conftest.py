import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from app.authoring.lint import LintReport, lint
from app.core.errors import Problem
from app.course.sandbox.runner import Runner
from app.server.config import Settings

Look = Callable[[Path], LintReport]
Lint = Callable[[str], tuple[Problem, ...]]


@pytest.fixture
def look(loop: asyncio.AbstractEventLoop) -> Look:
    """Lint of files without code, which does not need the sandbox."""
    return lambda path: loop.run_until_complete(lint([path], Runner(Settings())))


@pytest.fixture
def found(exercise_file: Callable[[str], Path], look: Look) -> Lint:
    """The problems in a file with this text."""
    return lambda text: look(exercise_file(text)).problems

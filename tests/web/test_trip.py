"""The rooms and modules that a numeric answer of a visitor enters on its way to a verdict."""

import sys
from contextvars import ContextVar
from pathlib import Path
from types import FrameType

import pytest
from fastapi.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from app.core.folders import ROOT
from app.main import create_app
from app.server.config import Settings

APP = ROOT / "app"
EXERCISE = "/exercises/collectives/ring-all-reduce-time"
MOST = 43  # modules
CLASSES = {"classes"}
BROWSER = {"x-fragment": "1", "sec-fetch-site": "same-origin"}


class Recorder:
    """ASGI middleware that records the modules that a request enters, and the tasks it starts."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._inside = ContextVar("inside", default=False)
        self.on = False
        self.entered: set[Path] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._inside.set(self.on)
        sys.setprofile(self._note if self.on else None)
        try:
            await self._app(scope, receive, send)
        finally:
            sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and self._inside.get() and path.is_relative_to(APP):
            self.entered.add(path.relative_to(APP))


@pytest.fixture(scope="module")
def entered(tmp_path_factory: pytest.TempPathFactory) -> set[Path]:
    """The modules that the third answer of a visitor to one exercise enters."""
    folder = tmp_path_factory.mktemp("trip")
    settings = Settings(database=f"sqlite:///{folder / 'wallclock.db'}", runs=folder / "runs")
    recorder = Recorder(create_app(settings))
    with TestClient(recorder) as client:
        for number in range(3):
            recorder.on = number == 2
            sent = client.post(EXERCISE, data={"answer": f"{number + 1} s"}, headers=BROWSER)
            assert "Not yet" in sent.text
    return recorder.entered


def test_a_numeric_answer_of_a_visitor_enters_few_modules(entered: set[Path]) -> None:
    assert len(entered) <= MOST, "\n".join(sorted(map(str, entered)))


def test_an_answer_without_a_class_enters_no_room_of_classes(entered: set[Path]) -> None:
    assert {path for path in entered if path.parts[0] in CLASSES} == set()

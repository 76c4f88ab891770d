"""A browser that is not Chromium, driven as the standard WebDriver says."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.waiting import HANGS

KEYS = {
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "Delete": "\ue017",
    "Control": "\ue009",
    "ArrowUp": "\ue013",
    "ArrowDown": "\ue015",
    "ArrowRight": "\ue014",
}
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the standard's name of a reference
_AT = """const one = document.querySelector(arguments[0]);
if (!one) return null;
one.scrollIntoView({ block: "center" });
const box = one.getBoundingClientRect();
return [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)];"""


@dataclass(frozen=True, slots=True)
class Command:
    """One command of WebDriver: its HTTP method and path, and what Firefox calls it."""

    method: str
    path: str
    name: str
    site: str = ""  # the address that paths belong to


GO = Command("POST", "url", "Navigate")
BACK = Command("POST", "back", "Back")
RELOAD = Command("POST", "refresh", "Refresh")
RUN = Command("POST", "execute/sync", "ExecuteScript")
FIND = Command("POST", "element", "FindElement")
FILL = Command("POST", "element/{id}/value", "ElementSendKeys")
ACT = Command("POST", "actions", "PerformActions")
RESIZE = Command("POST", "window/rect", "SetWindowRect")
PICTURE = Command("GET", "screenshot", "TakeScreenshot")


class Engine(ABC):
    """One window of a browser, with what a person does in it."""

    name: str
    site: str = ""  # the address that paths belong to

    @abstractmethod
    def send(self, command: Command, **body: Any) -> Any:
        """The value that the browser answers a *command* with."""

    @abstractmethod
    def errors(self) -> list[str]:
        """What went wrong on pages since the last call: errors of scripts, and what a policy forbids."""

    @abstractmethod
    def close(self) -> None:
        """End the browser."""

    def go(self, address: str) -> None:
        """Open *address*, or a path of the site, and wait until the scripts of the page answer."""
        self.send(GO, url=address if "://" in address else f"{self.site}{address}")
        self.wait_until_ready()

    def follow(self, path: str) -> None:
        """Go on to a page, as by a link: Back leads from there to here."""
        self.run("location.assign(arguments[0])", path)
        there = f"return location.pathname === {path.partition('?')[0]!r}"
        self.expect(lambda: self.run(there), path)
        self.wait_until_ready()

    def back(self) -> None:
        """As the button does."""
        self.send(BACK)
        self.wait_until_ready()

    def reload(self) -> None:
        """As the button does."""
        self.send(RELOAD)
        self.wait_until_ready()

    def resize(self, width: int, height: int = 900) -> None:
        """Make the page *width* pixels wide."""
        self.send(RESIZE, width=width, height=height)
        self.expect(lambda: self.run("return innerWidth") == width, f"{width} px")

    def run(self, script: str, *values: object) -> Any:
        """What the body of a function returns on the page."""
        return self.send(RUN, script=script, args=list(values))

    def wait_until_ready(self) -> None:
        """Wait until the scripts of the page have begun."""
        self.expect(lambda: self.run("return 'ready' in (document.documentElement?.dataset ?? {})"), "its scripts")

    def expect(self, seen: Callable[[], object], what: str = "it") -> Any:
        """The first value of *seen* that is true; it fails where none comes."""
        end = time.monotonic() + HANGS
        while not (value := seen()):
            if time.monotonic() > end:
                raise AssertionError(f"{self.name} waits for {what}")
            time.sleep(0.05)
        return value

    def see(self, selector: str, text: str = "") -> str:
        """The text of what matches *selector*, once there is one with *text* in it."""
        script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)"

        def found() -> str | None:
            texts: list[str] = self.run(script, selector) or []  # none while a page is left
            return next((f"{one} " for one in texts if text in one), None)

        seen: str = self.expect(found, f"{text!r} in {selector}")
        return seen

    def at(self, selector: str) -> tuple[int, int]:
        """The middle of the first element that matches, which scrolls into the window."""
        x, y = self.expect(lambda: self.run(_AT, selector), selector)
        return x, y

    def click(self, selector: str) -> None:
        """Press the mouse on the first element that matches."""
        self.point(("move", *self.at(selector)), ("down",), ("up",))

    def drag(self, selector: str, down: int) -> None:
        """Drag the first element that matches *down* by so many pixels."""
        x, y = self.at(selector)
        self.point(("move", x, y), ("down",), ("move", x, y + down), ("up",))

    def point(self, *steps: tuple[Any, ...]) -> None:
        """Do *steps* with the mouse: ("move", x, y), ("down",), ("up",)."""
        actions = [_pointer(*step) for step in steps]
        self._act({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}}, actions)

    def type(self, text: str) -> None:
        """Type *text*, where the focus is."""
        self._press([(kind, one) for one in text for kind in ("keyDown", "keyUp")])

    def key(self, *names: str) -> None:
        """Press keys at the same time: a name of *KEYS*, or a character."""
        held = [KEYS.get(name, name) for name in names]
        down = [("keyDown", key) for key in held]
        self._press([*down, *(("keyUp", key) for key in reversed(held))])

    def choose_file(self, selector: str, path: Path) -> None:
        """Choose a file for a field."""
        found = self.send(FIND, using="css selector", value=selector)
        self.send(FILL, id=found[ELEMENT], text=str(path))

    def _press(self, steps: list[tuple[str, str]]) -> None:
        self._act({"type": "key", "id": "keys"}, [{"type": kind, "value": key} for kind, key in steps])

    def _act(self, device: dict[str, Any], actions: list[dict[str, Any]]) -> None:
        self.send(ACT, actions=[{**device, "actions": actions}])


def _pointer(kind: str, x: int = 0, y: int = 0) -> dict[str, Any]:
    if kind == "move":
        return {"type": "pointerMove", "duration": 0, "origin": "viewport", "x": x, "y": y}
    return {"type": f"pointer{kind.title()}", "button": 0}

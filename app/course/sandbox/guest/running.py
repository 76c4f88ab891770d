"""Run learner code and reply with plain data; nothing is judged here."""

import builtins
import io
import json
import linecache
import sys
from collections.abc import Callable

import codec

FILE = "solution.py"
PRINTED = 16_000  # characters of one submission
REPLY = 64_000  # characters of one value
_MESSAGE = 300
_FRAMES = 3000  # frames of a traceback that are examined
_CUT = "\n... cut: a program may print 16 kB\n"


class Printed(io.TextIOBase):
    """The program's output, up to a limit over all calls."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.room = PRINTED

    def writable(self) -> bool:
        """Say that the stream can be written to."""
        return True

    def write(self, text: object) -> int:
        """Keep *text* while there is room."""
        words = str(text)
        if self.room > 0:
            self.parts.append(words[: self.room])
            if len(words) > self.room:
                self.parts.append(_CUT)
            self.room -= len(words)
        return len(words)

    def take(self) -> str:
        """Everything printed since the last call."""
        text = "".join(self.parts)
        self.parts.clear()
        return text


class _Program:
    """The program that is loaded: one per instance of the component."""

    function: Callable[..., object] | None = None
    printed = Printed()


def load(request: dict[str, str]) -> str:
    """Run the body of the program; the reply has `raised` if it did not complete."""
    source, entry = request["source"], request["entry"]
    _Program.printed = sys.stdout = sys.stderr = Printed()
    sys.stdin = io.StringIO("")
    linecache.cache[FILE] = (len(source), None, source.splitlines(True), FILE)
    space = {"__name__": "solution", "__builtins__": builtins, "__file__": FILE}
    reply: dict[str, object] = {}
    try:
        exec(compile(source, FILE, "exec", dont_inherit=True), space)
    except BaseException as error:  # noqa: BLE001 - whatever a learner raises
        reply["raised"] = _raised(error)
    else:
        _Program.function = space.get(entry)
        if not callable(_Program.function):
            reply["raised"] = ["Missing", f"no function called {entry} is defined", None]
    return _text(reply)


def call(arguments: list[object]) -> str:
    """Call the function; the reply has its `value`, or `raised`."""
    reply: dict[str, object] = {}
    try:
        reply["value"] = codec.encode(_Program.function(*[codec.decode(part) for part in arguments]))
    except BaseException as error:  # noqa: BLE001 - whatever a learner raises
        reply["raised"] = _raised(error)
    return _text(reply)


def forget() -> None:
    """Leave nothing of a program behind."""
    _Program.function = None
    linecache.cache.clear()


def _raised(error: BaseException) -> list[object]:
    line, trace, seen = None, error.__traceback__, 0
    while trace is not None and seen < _FRAMES:
        if trace.tb_frame.f_code.co_filename == FILE:
            line = trace.tb_lineno
        trace, seen = trace.tb_next, seen + 1
    if isinstance(error, SyntaxError) and error.filename == FILE:
        line = error.lineno
    try:
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        message = str(message)[:_MESSAGE]
    except BaseException:  # noqa: BLE001 - its __str__ is the learner's, too
        message = ""
    return [str(type(error).__name__)[:80], message, line]


def _text(reply: dict[str, object]) -> str:
    text = json.dumps(reply)
    if len(text) > REPLY:
        text = json.dumps({"stopped": "too large"})
    return json.dumps([text, _Program.printed.take()])

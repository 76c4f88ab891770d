"""A server of any version, run from its own folder of code as an operator runs it."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2


@dataclass(frozen=True, slots=True)
class Installation:
    """A folder of *code*, with the settings and the database that its commands use."""

    code: Path
    settings: Mapping[str, str]

    def command(self, *words: str) -> str:
        """What `wallclock` with these *words* prints."""
        done = subprocess.run(
            [sys.executable, "-m", "app", *words],
            cwd=self.code,
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return done.stdout

    def evaluate(self, program: str) -> str:
        """What a *program* of its version of Python modules prints."""
        command = [sys.executable, "-c", program]
        return subprocess.check_output(command, cwd=self.code, env=self._environment, text=True)

    def offers(self, command: str) -> bool:
        """Whether its version has that *command*."""
        return f"\n    {command} " in self.command("--help")

    def answers(self, seed: int, exercises: Sequence[str] = ()) -> Iterator[Mapping[str, object]]:
        """The right answers and the known mistakes of *exercises*; of all, if none is given."""
        lines = self.command("answers", *exercises, "--seeds", f"{seed}..{seed}").splitlines()
        return map(json.loads, lines)

    @contextmanager
    def serving(self) -> Iterator[str]:
        """The address of its server, which stops at the end."""
        command = [sys.executable, "-m", "app", "serve", "--port", "0"]
        process = subprocess.Popen(command, cwd=self.code, env=self._environment, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        try:
            found = re.search(r"http://\S+", process.stderr.readline())
            assert found, "the server did not start"
            url = found[0].rstrip("/")
            _until_ready(url)
            yield url
        finally:
            process.terminate()
            process.communicate(timeout=60)

    @property
    def _environment(self) -> Mapping[str, str]:
        others = {k: v for k, v in os.environ.items() if not k.startswith("WALLCLOCK_")}
        return {**others, **self.settings}


def _until_ready(url: str) -> None:
    """Wait until its sandbox runs programs, which may have to be built first."""
    latest = time.monotonic() + 300
    while httpx2.get(f"{url}/readyz", timeout=60).json().get("sandbox") != "ready":
        assert time.monotonic() < latest, "the sandbox did not start"
        time.sleep(0.1)


class Browser:
    """A browser with cookies of its own."""

    def __init__(self, url: str) -> None:
        self._client = httpx2.Client(base_url=url, timeout=120)

    def get(self, path: str) -> str:
        """The page at *path*."""
        return self._client.get(path, follow_redirects=True).raise_for_status().text

    def post(self, path: str, **fields: object) -> str:
        """The page, or the address, that a form with these *fields* leads to."""
        reply = self._client.post(path, data=fields)
        assert reply.status_code in (200, 303), (path, reply.status_code, reply.text[:500])
        return reply.headers.get("location", reply.text)

    def answer(self, exercise: str, seed: int, answer: object, action: str = "check") -> str:
        """The page after an *answer* to a drawing of *exercise*."""
        if isinstance(answer, dict):
            fields = {f"answer.{name}": value for name, value in answer.items()}
        else:
            fields = {"answer": answer}
        return self.post(f"/exercises/{exercise}?seed={seed}", **fields, action=action)

    def list(self, path: str) -> Sequence[Mapping[str, object]]:
        """The documents at *path*."""
        found: Sequence[Mapping[str, object]] = json.loads(self.get(path))
        return found

    def begin(self, path: str) -> str:
        """Where *path* leads to, by itself."""
        reply = self._client.get(path)
        assert reply.status_code == 303, (path, reply.status_code)
        return reply.headers["location"]

    def upload(self, path: str, text: str) -> None:
        """Send a file with that *text*."""
        files = {"file": ("file.json", text.encode(), "application/json")}
        reply = self._client.post(path, files=files)
        assert reply.status_code in (200, 303), (path, reply.text[:500])

    @property
    def cookies(self) -> Mapping[str, str]:
        """Its cookies, by their names."""
        return dict(self._client.cookies)


class Program:
    """A program that calls the JSON interface with a token."""

    def __init__(self, url: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self._client = httpx2.Client(base_url=f"{url}/api/v1", headers=headers, timeout=120)

    def get(self, path: str) -> "Mapping[str, object]":
        """The document at *path*."""
        found: Mapping[str, object] = self._client.get(path).raise_for_status().json()
        return found

    def list(self, path: str) -> "Sequence[Mapping[str, Any]]":
        """The documents at *path*."""
        found: Sequence[Mapping[str, Any]] = self._client.get(path).raise_for_status().json()
        return found

    def post(self, path: str, body: object, **headers: str) -> "Mapping[str, object]":
        """The reply to the document *body*."""
        reply = self._client.post(path, json=body, headers=headers)
        assert reply.status_code < 300, (path, reply.text)
        found: Mapping[str, object] = reply.json()
        return found

"""An exported course in Chromium: what its worker answers."""

import functools
import http.server
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

ASK = """async ([script, files, base, wishes]) => {
  const worker = (window.desk ??= new Worker(script, { type: "module" }));
  const { run } = await import(script.replace("desk.js", "runner.js"));
  if (!window.begun) worker.postMessage({ files, base });
  window.begun = true;
  const found = [];
  await new Promise((resolve, reject) => {
    worker.onerror = (event) => reject(new Error(event.message));
    worker.onmessage = ({ data }) => {
      if (data.run) run(files, data.wish).then((reply) => worker.postMessage({ reply }));
      if (data.failed) reject(new Error(data.failed));
      if (!data.answer) return;
      found[data.number] = [data.answer.status, data.answer.text];
      if (found.filter(Boolean).length === wishes.length) resolve();
    };
    wishes.forEach(([method, address, fields], number) =>
      worker.postMessage({ number, wish: { method, address, fields, headers: { "x-fragment": "1" } } }),
    );
  });
  return found;
}"""
Wish = tuple[str, str, Sequence[tuple[str, str]]]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        return


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of *folder*, on a host that knows nothing of it."""
    handler = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


def answered(page: Page, base: str, wishes: Sequence[Wish]) -> list[tuple[int, str]]:
    """The status and the text of what the worker answers to each of *wishes*."""
    script = page.locator("script[data-app]")
    files = json.loads(str(script.get_attribute("data-files")))
    desk = str(script.evaluate("(one) => one.src")).replace("page.js", "desk.js")
    path = "/" + base.partition("://")[2].partition("/")[2]
    given = [desk, files, path, [list(wish) for wish in wishes]]
    found: list[tuple[int, str]] = page.evaluate(ASK, given)
    return found

"""Runs the desk of an exported course: python -I -S desk_here.py FOLDER NAMES.

Its packages are those of the archive, but for those in FOLDER/here, which are compiled.

NAMES are modules of the standard library that are left out of an export: nothing may import them.

Reads wishes as JSON from standard input, and writes its answers.
"""

import asyncio
import json
import sys
from importlib import import_module


async def main(folder: str, *missing: str) -> None:
    """Answer every wish."""
    for name in missing:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]
    sys.path[:0] = [f"{folder}/{name}" for name in ("here", "course", "program")]
    desk_of, run = import_module("app.desk").Desk, import_module("program").run

    async def ask(wish: str) -> str:
        return json.dumps({**json.loads(run(wish)), "seconds": 0.0})

    desk = desk_of("/some/where/", ask, lambda *_: None, lambda: None)
    found = []
    for method, address, fields in json.load(sys.stdin):
        headers = {"x-fragment": "1"} if method == "POST" else {}
        wish = {"method": method, "address": address, "fields": fields, "headers": headers}
        answer = json.loads(await desk.answer(json.dumps(wish)))
        found.append([answer["status"], answer["text"]])
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    # A loop of its own: the desk replaces asyncio.run, as a browser has one loop only.
    asyncio.new_event_loop().run_until_complete(main(*sys.argv[1:]))

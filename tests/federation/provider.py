"""A real provider of identities, and a person who uses it as a browser would."""

import html
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tests.audit.npm import installed

CLIENT, SECRET = "wall clock", "not so:secret+&%"


@contextmanager
def provider(back: str) -> Iterator[str]:
    """The issuer of npm's oidc-provider, which sends browsers to *back*.

    Raises:
        RuntimeError: Node is not there, or the package could not be installed.
    """
    package = installed("oidc-provider", "9")
    node = shutil.which("node")
    if node is None:
        raise RuntimeError("the tests of sign-in need Node 20 or newer, and there is no node")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = Path(__file__).with_name("oidc_provider.mjs")
    command = [node, str(script), str(package), str(port), back]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as started:
        try:
            assert started.stdout
            issuer = started.stdout.readline().strip()
            if not issuer:
                raise RuntimeError("oidc-provider did not start")
            yield issuer
        finally:
            started.kill()


def signed_in_there(start: str, back: str, login: str = "mina", *, cancel: bool = False) -> str:
    """The address, below *back*, to which the provider sends a browser that came to *start*."""
    with httpx2.Client() as browser:
        page = browser.get(start)
        for _ in range(12):
            if page.is_redirect:
                there = str(page.next_request.url) if page.next_request else ""
                if there.startswith(back):
                    return there
                page = browser.get(there)
                continue
            if cancel:
                found = re.search(r'href="([^"]+/abort)"', page.text)
                assert found, page.text
                page = browser.get(html.unescape(found[1]))
                continue
            action = re.search(r'action="([^"]+)"', page.text)
            prompt = re.search(r'name="prompt" value="(\w+)"', page.text)
            assert action, page.text
            assert prompt, page.text
            form = {"prompt": prompt[1], "login": login, "password": "x"}
            page = browser.post(html.unescape(action[1]), data=form)
    raise RuntimeError(page.text[:300])

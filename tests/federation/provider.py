"""A real provider of identities, and a person who uses it as a browser would."""

import html
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tests.federation.environment import peers, running
from tests.needs import node, provided
from tests.sockets import reserved_port
from tests.waiting import HANGS
from tools.audit.npm import locked

_FOLDER = Path(__file__).with_name("oidc_provider")
NODE = node()
# The simpler provider does not undo the quoting of RFC 6749, 2.3.1.
CLIENT, SECRET = ("wall clock", "not so:secret+&%") if NODE else ("wallclock", "secret")


def certified() -> Path:
    """The folder of npm's provider, installed; needs Node."""
    return locked("oidc-provider", _FOLDER)


@contextmanager
def provider(back: str) -> Iterator[str]:
    """The issuer of npm's oidc-provider, which sends browsers to *back*.

    Where there is no Node, the simpler provider of PyPI: it knows neither PKCE nor the issuer in
    its answers, and the tests of these need Node.

    Where the package cannot be installed, the test is left out.
    """
    if NODE is None:
        with simple_provider() as issuer:
            yield issuer
        return
    package = provided("peers", certified)
    with (
        reserved_port() as port,
        subprocess.Popen(
            [NODE, str(_FOLDER / "server.mjs"), str(package), str(port), back],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as started,
    ):
        try:
            assert started.stdout
            issuer = started.stdout.readline().strip()
            if not issuer:
                raise RuntimeError("oidc-provider did not start")
            yield issuer
        finally:
            started.kill()


@contextmanager
def simple_provider() -> Iterator[str]:
    """The issuer of PyPI's oidc-provider-mock: it takes any client, and has no PKCE.

    Where it cannot be installed, the test is left out.
    """
    with reserved_port() as port:
        issuer = f"http://localhost:{port}"
        command = [str(provided("peers", peers)), "-m", "oidc_provider_mock", "--port", str(port)]
        with running(command, f"{issuer}/.well-known/openid-configuration"):
            yield issuer


def signed_in_there(start: str, back: str, login: str = "mina", *, cancel: bool = False) -> str:
    """The address, below *back*, to which the provider sends a browser that came to *start*."""
    with httpx2.Client(timeout=HANGS) as browser:
        page = browser.get(start)
        for _ in range(12):
            if page.is_redirect:
                there = str(page.next_request.url) if page.next_request else ""
                if there.startswith(back):
                    return there
                page = browser.get(there)
                continue
            if 'name="sub"' in page.text:  # the simpler provider
                answer = {"action": "deny"} if cancel else {"sub": login}
                page = browser.post(page.url, data=answer)
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

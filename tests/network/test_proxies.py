"""Behind nginx, Caddy and Apache, with TLS: at the root of a host and under a path prefix."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from urllib.parse import urljoin

import httpx2
import pytest

from tests.network.proxies import APACHE, CADDY, HEADERS, apache, browser, caddy, certificate, nginx, serving
from tests.sockets import reserved_port

EXERCISE = "/exercises/collectives/ring-all-reduce-time"
PREFIX = "/wallclock"
NAMES = ("root", "prefix", "taken off", "bare", "bare, address known")
OTHERS = ("caddy", "caddy, prefix", "apache")
AT_THE_ROOT = ("root", "bare", "caddy", "apache")
PAGES = ("/", EXERCISE, "/explore/ring", "/labs/algorithms", "/search?q=ring", "/sign-in", "/lti")

needs_nginx = pytest.mark.needs("nginx", "openssl")


@dataclass(frozen=True)
class Front:
    """A proxy: its origin, the prefix behind it, and a browser there."""

    origin: str
    prefix: str
    client: httpx2.Client


@pytest.fixture(scope="module")
def fronts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Front]]:
    folder = tmp_path_factory.mktemp("fronts")
    trusted = certificate(folder)
    with ExitStack() as stack:
        names = (*NAMES, *OTHERS, "behind")
        ports = {name: stack.enter_context(reserved_port()) for name in names}
        origins = {name: f"https://localhost:{port}" for name, port in ports.items()}
        behind = ports["behind"]
        root = stack.enter_context(serving(folder / "root", port=behind))
        below = stack.enter_context(serving(folder / "below", url=f"{origins['prefix']}{PREFIX}/"))
        to, under = f"proxy_pass http://unix:{root}", f"proxy_pass http://unix:{below}"
        servers = {
            "root": f"location / {{ {to}; {HEADERS} }}",
            "prefix": f"location {PREFIX}/ {{ {under}; {HEADERS} }}",
            "taken off": f"location {PREFIX}/ {{ {under}:/; {HEADERS} }}",
            "bare": f"location / {{ {to}; }}",
            "bare, address known": f"location {PREFIX}/ {{ {under}; }}",
        }
        stack.enter_context(nginx(folder, {ports[name]: text for name, text in servers.items()}))
        if CADDY:
            below = stack.enter_context(serving(folder / "caddy", url=f"{origins['caddy, prefix']}{PREFIX}/"))
            sites = {ports["caddy"]: root, ports["caddy, prefix"]: below}
            stack.enter_context(caddy(folder, sites))
        if APACHE:
            stack.enter_context(apache(folder, ports["apache"], behind))
        yield {
            name: Front(
                origins[name],
                "" if name in AT_THE_ROOT else PREFIX,
                stack.enter_context(browser(trusted, origins[name])),
            )
            for name in (*NAMES, *OTHERS)
        }


def if_installed(name: str) -> object:
    programs = {"caddy": "caddy", "caddy, prefix": "caddy", "apache": "apache2"}
    return pytest.param(name, marks=pytest.mark.needs(programs.get(name, "nginx")))


PROPER = [if_installed(name) for name in ("root", "prefix", "taken off", "caddy", "caddy, prefix", "apache")]


@needs_nginx
@pytest.mark.parametrize("name", PROPER)
def test_pages_and_all_that_they_load_come_through_a_proxy(fronts: dict[str, Front], name: str) -> None:
    front, loaded = fronts[name], set()
    for page in PAGES:
        answer = front.client.get(front.prefix + page)
        assert answer.status_code == 200
        for address in re.findall(r'(?:href|src|action)="(/[^"#?]*)', answer.text):
            assert address.startswith(f"{front.prefix}/"), page
        loaded |= set(re.findall(r'(?:href|src)="(/[^"]*/static/[^"]+)"', answer.text))
        loaded |= set(re.findall(r'(?:href|src)="(/static/[^"]+)"', answer.text))
    assert len(loaded) > 8
    for address in sorted(loaded):
        file = front.client.get(address)
        assert file.status_code == 200
        for other in re.findall(r'url\((\./[^)]+)\)|import\("(\./[^"]+)"\)', file.text):
            deeper = urljoin(address, "".join(other))
            assert deeper.startswith(f"{front.prefix}/static/")
            assert front.client.head(deeper).status_code == 200


@needs_nginx
@pytest.mark.parametrize("name", PROPER)
def test_an_answer_is_checked_and_remembered_through_a_proxy(fronts: dict[str, Front], name: str) -> None:
    front = fronts[name]
    sent = front.client.post(front.prefix + EXERCISE, data={"answer": "1 s"})
    assert sent.status_code == 200
    cookie = sent.headers["set-cookie"]
    assert "; Secure" in cookie, "the proxy says that visitors use https"
    assert f"; Path={front.prefix}/;" in f"{cookie};"
    assert EXERCISE in front.client.get(f"{front.prefix}/progress").text
    another = front.client.get(f"{front.prefix}{EXERCISE}/another").headers["location"]
    assert another.startswith(f"{front.prefix}{EXERCISE}?seed=")
    front.client.cookies.clear()


@needs_nginx
def test_a_bare_proxy_pass_explains_itself(fronts: dict[str, Front]) -> None:
    front = fronts["bare"]
    assert front.client.get(EXERCISE).status_code == 200
    refused = front.client.post(EXERCISE, data={"answer": "1 s"})
    assert refused.status_code == 403
    assert "the proxy in front of it must pass on what it leaves out: Host" in refused.text
    same = {"Sec-Fetch-Site": "same-origin"}  # so browsers say, with https
    hidden = front.client.post(EXERCISE, data={"answer": "1 s"}, headers=same).text
    assert "The proxy in front of this server hides where this form comes from" in hidden
    for line in (
        "proxy_set_header Host $http_host;",
        "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
        "proxy_set_header X-Forwarded-Proto $scheme;",
    ):
        assert line in refused.text
        assert line in HEADERS, "the lines that the page shows are those that work"
    assert "This form was sent from another site; open" in foreign(front, "cross-site")
    assert "proxy_set_header" not in foreign(front, "cross-site")


@needs_nginx
def test_with_the_address_known_a_bare_proxy_pass_works(fronts: dict[str, Front]) -> None:
    front = fronts["bare, address known"]
    own = {"Origin": fronts["prefix"].origin}
    sent = front.client.post(PREFIX + EXERCISE, data={"answer": "1 s"}, headers=own)
    assert sent.status_code == 200
    assert "This form was sent from another site; open" in foreign(front, "same-site")
    assert front.client.post(PREFIX + EXERCISE, data={"answer": "1 s"}).status_code == 403


@needs_nginx
def test_addresses_for_platforms_and_previews_are_the_public_ones(fronts: dict[str, Front]) -> None:
    front = fronts["prefix"]
    public = f"{front.origin}{PREFIX}"
    assert f"{public}/lti/launch" in front.client.get(f"{PREFIX}/lti").text
    page = front.client.get(f"{PREFIX}/explore/ring").text
    image = re.search(r'og:image" content="([^"]+)"', page)
    assert image
    assert image[1].startswith(f"{public}/static/social.")


def foreign(front: Front, sender: str) -> str:
    headers = {"Sec-Fetch-Site": sender, "Origin": "https://evil.example"}
    answer = front.client.post(front.prefix + EXERCISE, data={"answer": "1 s"}, headers=headers)
    assert answer.status_code == 403
    return answer.text

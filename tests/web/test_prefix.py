"""A site under a path prefix: whatever a visitor meets stays under it."""

import json
import re
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

import pytest
from fastapi.testclient import TestClient
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.classes.federation.lti.tool import _description, tool_address
from app.main import create_app
from app.server.config import Settings
from app.server.config.visits import prefix_of
from app.server.network.prefix import Prefix, prefix_addresses
from app.site.web.frame.assets import assets
from tests.client import Client
from tests.pages import EVERY, PAGES

URL = "https://example.org/teach/wallclock"
PREFIX = "/teach/wallclock"
HTTPS = {"Host": "example.org"}
EXERCISE = PAGES["numeric"]
_ADDRESS = re.compile(r"""[\s"'](?:href|src|srcset|action|formaction|poster)=["']?([^"'\s>]+)""")


@pytest.mark.parametrize(
    ("url", "prefix"), [(URL, PREFIX), (f"{URL}/", PREFIX), ("https://example.org", ""), ("https://example.org/", "")]
)
def test_a_prefix_is_the_path_of_the_address_without_a_slash_at_its_end(url: str, prefix: str) -> None:
    assert prefix_of(url) == prefix


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("prefixed")
    settings = Settings(database=f"sqlite:///{folder / 'w.db'}", runs=folder / "runs", sandbox_workers=1, url=URL)
    app = create_app(settings)
    with Client(app, base_url="https://example.org", follow_redirects=False) as client:
        yield client


@pytest.fixture
def client(site: TestClient) -> TestClient:
    site.cookies.clear()
    return site


@pytest.fixture(scope="module")
def pages(site: TestClient) -> dict[str, str]:
    site.cookies.clear()
    return {path: site.get(PREFIX + path).text for path in sorted({*PAGES.values(), *EVERY[-9:]})}


def out_of_it(page: str, text: str) -> list[str]:
    """The addresses in an HTML page that are on this host and not under the prefix."""
    found = [urljoin(URL + page, address) for address in _ADDRESS.findall(text)]
    return [one for one in found if one.startswith("https://example.org/") and URL + "/" not in one]


def test_no_page_links_out_of_the_prefix(pages: dict[str, str]) -> None:
    assert sum(text.count(f'"{PREFIX}/') for text in pages.values()) > 1000
    assert {page: out for page, text in pages.items() if (out := out_of_it(page, text))} == {}


def test_no_other_attribute_or_script_of_a_page_has_an_address_at_the_root(pages: dict[str, str]) -> None:
    at_root = re.compile(r"""\s[\w:-]+=["']?/(?!teach/wallclock/)[a-z]+[^"'>]*""")
    values = {"value"}  # of forms: the application itself reads them
    for page, text in pages.items():
        found = [one for one in at_root.findall(text) if one.split("=")[0].strip() not in values]
        assert not found, page
        assert f"url({PREFIX}" not in text
        assert "url(/" not in text, page


def test_files_name_each_other_by_relative_addresses(client: TestClient) -> None:
    for name, asset in assets().items():
        if name.endswith((".css", ".js")) and not name.startswith("vendor/"):
            text = asset.body.decode()
            assert not re.search(r"""url\(["']?/|(from|import) ?\(?["'`]/|fetch\(["'`]/""", text)
    script = f"{PREFIX}/static/{assets()['app.js'].hashed}"
    others = re.findall(r'import\("([^"]+)"\)', client.get(script).text)
    assert len(others) >= 3
    assert all(client.get(urljoin(script, one)).status_code == 200 for one in others)


def test_a_proxy_may_take_the_prefix_off(client: TestClient) -> None:
    assert client.get(f"{PREFIX}{EXERCISE}").status_code == 200
    stripped = client.get(EXERCISE)
    assert stripped.status_code == 200
    assert out_of_it(EXERCISE, stripped.text) == []
    assert client.get("/livez").json() == client.get(f"{PREFIX}/livez").json() == {"status": "ok"}


def test_the_bare_prefix_leads_to_the_first_page(client: TestClient) -> None:
    answer = client.get(f"{PREFIX}?from=mail")
    assert answer.status_code == 308
    assert answer.headers["location"] == f"{PREFIX}/?from=mail"


@pytest.mark.parametrize("other", ["/teach/wallclocks", "/teach", "/TEACH/wallclock/labs"])
def test_an_address_that_only_begins_alike_is_not_under_the_prefix(client: TestClient, other: str) -> None:
    assert client.get(other).status_code == 404


def test_redirects_and_cookies_are_under_the_prefix(client: TestClient) -> None:
    another = client.get(f"{PREFIX}{EXERCISE}/another")
    assert another.headers["location"].startswith(f"{PREFIX}{EXERCISE}?seed=")
    answer = client.post(f"{PREFIX}{EXERCISE}", data={"answer": "1 s"}, headers={"Origin": "https://example.org"})
    assert answer.status_code == 200
    assert f"; Path={PREFIX}/;" in answer.headers["set-cookie"] + ";"
    asked = client.get(f"{PREFIX}/me").headers["location"]
    assert asked == f"{PREFIX}/sign-in?next=%2Fme"
    themed = client.post(f"{PREFIX}/theme", data={"theme": "dark", "back": "/labs"})
    assert themed.headers["location"] == f"{PREFIX}/labs"
    assert f"Path={PREFIX}/" in themed.headers["set-cookie"]


def test_a_redirect_cannot_leave_through_the_prefix(client: TestClient) -> None:
    for back in ("//evil.example", "/\\evil.example", "https://evil.example/x"):
        answer = client.post(f"{PREFIX}/theme", data={"theme": "dark", "back": back})
        assert answer.headers["location"] == f"{PREFIX}/"


def test_the_cookie_of_a_site_at_the_root_of_the_host_does_not_replace_ours(client: TestClient) -> None:
    # Browsers send the cookie with the longer path first.
    both = {"Cookie": "theme=dark; other=1; theme=light"}
    assert 'data-theme="dark"' in client.get(f"{PREFIX}/labs", headers=both).text


def test_error_pages_are_under_the_prefix(client: TestClient) -> None:
    for answer in (
        client.get(f"{PREFIX}/nothing"),
        client.post(f"{PREFIX}/theme", content=b"a" * (2 << 20)),
        client.post(f"{PREFIX}{EXERCISE}", headers={"Origin": "https://evil.example"}),
    ):
        assert answer.status_code in (404, 413, 403)
        assert f'href="{PREFIX}/"' in answer.text
        assert out_of_it("/nothing", answer.text) == []


def test_social_addresses_are_the_public_ones(pages: dict[str, str]) -> None:
    text = pages["/explore/ring"]
    assert f'property="og:url" content="{URL}/explore/ring' in text
    assert f'property="og:image" content="{URL}/static/social.' in text


def test_programs_find_the_interface_under_the_prefix(client: TestClient) -> None:
    described = client.get(f"{PREFIX}/api/v1/openapi.json").json()
    assert described["servers"] == [{"url": PREFIX}]
    assert f"see {PREFIX}/api/docs" in client.get(f"{PREFIX}/api/v1/nothing").json()["detail"]


def test_platforms_and_providers_get_addresses_under_the_prefix(client: TestClient, pages: dict[str, str]) -> None:
    assert tool_address(URL) == URL
    for path in ("launch", "login", "jwks"):
        assert f"{URL}/lti/{path}" in pages["/lti"]
    tool = json.loads(json.dumps(_description(URL, canvas=False)))
    assert tool["initiate_login_uri"] == f"{URL}/lti/login"
    assert '"domain": "example.org"' in json.dumps(tool), "a host, without the prefix"
    target = re.search(r"https://[^<\"]+/lti/launch", pages["/lti"])
    assert target
    assert client.get(urlsplit(target[0]).path).status_code in (200, 405)


def test_in_html_only_addresses_change() -> None:
    text = '<a href="/labs" title="/labs" data-copy="/x">href=&#34;/labs&#34;</a><b src="//cdn">/labs</b>'
    assert prefix_addresses("/p", text) == (
        '<a href="/p/labs" title="/labs" data-copy="/p/x">href=&#34;/labs&#34;</a><b src="//cdn">/labs</b>'
    )
    assert prefix_addresses("", text) == text


def test_metrics_are_off_unless_someone_is_allowed(client: TestClient) -> None:
    answer = client.get(f"{PREFIX}/metrics")
    assert answer.status_code == 404
    assert "WALLCLOCK_METRICS says who may read them" in answer.json()["detail"]


def test_search_engines_find_the_public_addresses(client: TestClient) -> None:
    robots = client.get(f"{PREFIX}/robots.txt").text
    assert f"Disallow: {PREFIX}/classes" in robots
    assert f"Sitemap: {URL}/sitemap.xml" in robots
    assert f"<loc>{URL}{EXERCISE}</loc>" in client.get(f"{PREFIX}/sitemap.xml").text
    page = client.get(f"{PREFIX}{EXERCISE}?seed=7").text
    assert f'rel="canonical" href="{URL}{EXERCISE}"' in page


def test_a_whole_prefix_is_taken_off_and_put_on_addresses_of_this_site_alone() -> None:
    async def page(request: Request) -> Response:
        return Response(request.url.path, headers={"location": request.query_params.get("to", "/labs")})

    inside = Starlette(routes=[Route("/{rest:path}", page)])
    with TestClient(Prefix(inside, "/wallclock"), follow_redirects=False) as client:
        asked = ("/wallclock/labs", "/labs", "/wallclocks/a", "/wallclock/wallclock/a")
        assert [client.get(path).text for path in asked] == ["/labs", "/labs", "/wallclocks/a", "/wallclock/a"]
        assert client.get("/wallclock/").headers["location"] == "/wallclock/labs"
        assert client.get("/?to=https://idp.example/a").headers["location"] == "https://idp.example/a"

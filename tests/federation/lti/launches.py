"""A browser that opens links of a platform, step by step, as its pages do."""

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx2

from tests.federation.lti.openedx import Platform
from tests.federation.lti.serving import Service

Fields = dict[str, str]


def fields(page: str) -> Fields:
    """The hidden fields of a page."""
    found = re.findall(r'<input[^>]*name="?(\w+)"?\s+value="?([^">]*)"?', page)
    return {name: html.unescape(value) for name, value in found}


@dataclass
class Browser:
    """Cookies as a browser has them that trusts the loopback like https."""

    service: Service
    platform: Platform
    cookies: Fields = field(default_factory=dict)
    framed: bool = True

    def __post_init__(self) -> None:
        self.http = self.platform.http

    def begin(self, query: str) -> tuple[httpx2.Response, Fields]:
        """The answer to our login, and the form that the platform then sends."""
        start = self.http.get(f"{self.platform.url}/go?{query}")
        login = self.remembered(self.http.get(start.headers["location"]))
        gate = self.http.get(login.headers["location"])
        return login, fields(gate.text)

    def launch(self, query: str, change: Callable[[Fields], object] | None = None) -> httpx2.Response:
        _, sent = self.begin(query)
        if change:
            change(sent)
        return self.send("/lti/launch", sent)

    def send(self, path: str, data: Fields | list[tuple[str, str]]) -> httpx2.Response:
        pairs = list(data.items()) if isinstance(data, dict) else data
        together: dict[str, list[str]] = {}
        for name, value in pairs:
            together.setdefault(name, []).append(value)
        headers = {"Sec-Fetch-Dest": "iframe" if self.framed else "document", **self._cookie()}
        return self.remembered(self.http.post(self.service.url + path, data=together, headers=headers))

    def get(self, path: str) -> httpx2.Response:
        return self.remembered(self.http.get(self.service.url + path, headers=self._cookie()))

    def enter(self, query: str, chosen: str = "class:new") -> httpx2.Response:
        """Open a link in its window, and answer the question that comes the first time."""
        page = self.send("/lti/open", fields(self.launch(query).text))
        if page.status_code == 200:
            page = self.send("/lti/open", {**fields(page.text), "chosen": chosen})
        return page

    def remembered(self, response: httpx2.Response) -> httpx2.Response:
        for line in response.headers.get_list("set-cookie"):
            name, _, value = line.split(";")[0].partition("=")
            self.cookies[name] = value
        self.http.cookies.clear()
        return response

    def _cookie(self) -> dict[str, str]:
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}


def path_of(response: httpx2.Response) -> str:
    return urlsplit(response.headers["location"]).path

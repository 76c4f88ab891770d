"""A second platform that nobody here wrote: PyPI's lti-provider-mock.

It differs from Open edX in what trips tools up: it posts the login rather than redirecting, names
no role, sends no services, and its hint of the message is the same for everyone.
"""

import html
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx2

from tests.federation.environment import peers, running
from tests.needs import provided
from tests.sockets import reserved_port
from tests.waiting import HANGS

CLIENT, DEPLOYMENT, COURSE = "lti-provider-mock", "1", "intro"
_NAMES = {"id-7": ("Mina", "Maier"), "id-8": ("Noor", "Aziz")}


@contextmanager
def platform(tool: str) -> Iterator[str]:
    """The address of the platform, whose course opens the tool at the address *tool*."""
    users = [
        {"id": name, "given_name": given, "family_name": family, "email": "not@sent.example"}
        for name, (given, family) in _NAMES.items()
    ]
    with reserved_port() as port:
        url = f"http://localhost:{port}"
        variables = {
            "USERS": json.dumps(users),
            "COURSES": json.dumps([{"id": COURSE, "name": "Introduction"}]),
            "LTI__ISS": url,
            "LTI__LOGIN_URL": f"{tool}/lti/login",
            "LTI__LAUNCH_URL": f"{tool}/lti/launch",
        }
        command = [str(provided("peers", peers)), "-m", "uvicorn",
                   "lti_provider_mock.server:app", "--port", str(port), "--log-level", "warning"]  # fmt: skip
        named = {f"LTI_PROVIDER_MOCK__{name}": value for name, value in variables.items()}
        with running(command, f"{url}/jwks", named):
            yield url


@dataclass
class Student:
    """A browser in which a student of the platform is signed in; it keeps cookies by host."""

    platform: str
    tool: str
    subject: str
    there: httpx2.Client = field(init=False)
    here: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.there = httpx2.Client(timeout=HANGS, trust_env=False)
        self.there.post(f"{self.platform}/login", data={"userid": self.subject})

    def begin(self) -> dict[str, str]:
        """Open the course's link, up to the form that the platform sends to the tool."""
        start = self.there.get(f"{self.platform}/courses/{COURSE}")
        login = self.post("/lti/login", _fields(start.text))
        assert login.status_code in (302, 303), login.text
        gate = self.there.get(login.headers["location"])
        assert gate.status_code == 200, gate.text
        return _fields(gate.text)

    def post(self, path: str, data: dict[str, str]) -> httpx2.Response:
        cookies = "; ".join(f"{name}={value}" for name, value in self.here.items())
        with httpx2.Client(timeout=HANGS, trust_env=False) as http:
            answer = http.post(self.tool + path, data=data, headers={"Cookie": cookies})
        for line in answer.headers.get_list("set-cookie"):
            name, _, value = line.split(";")[0].partition("=")
            self.here[name] = value
        return answer

    def open(self, launch: httpx2.Response) -> httpx2.Response:
        """Press the button of the page that a launch shows."""
        return self.post("/lti/open", _fields(launch.text))


def _fields(page: str) -> dict[str, str]:
    form = re.findall(r'<input[^>]*?name="(\w+)"\s+value="([^"]*)"', page)
    ids = re.findall(r'id="login_hint" name="(\w+)" value="([^"]*)"', page)
    return {name: html.unescape(value) for name, value in (*form, *ids)}

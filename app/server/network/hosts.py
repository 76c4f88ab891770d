"""The names by which a browser may ask for this server.

A page of another site can let its own name lead to this machine (DNS rebinding); its browser then
takes what it asks here for its own. So a request is answered only by a name that no other site
can have: the one in the public URL, those that the operator lists, that of this machine, a name
without a dot, which no registry gives away, or an address, which needs no name at all.
"""

import re
import socket
from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.types import Scope

from app.server.config import Settings

_ANY = "*"
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]*)(:[0-9]*)?")
_OF_THIS_MACHINE = ".localhost"


class Hosts:
    """Which names are this server's; at the paths in *open_to_all*, any is."""

    def __init__(self, settings: Settings, open_to_all: Collection[str] = ()) -> None:
        machine = socket.gethostname().lower()
        own = {urlsplit(settings.url).hostname or "", settings.host.lower(), machine}
        self._names = own | {f"{machine}.local"} | settings.hosts
        self._open = open_to_all

    def admit(self, scope: Scope) -> bool:
        """Whether the request in *scope* asks for this server by one of its names."""
        if _ANY in self._names or scope["path"] in self._open:
            return True
        return all(self._is_ours(value) for name, value in scope["headers"] if name == b"host")

    def _is_ours(self, value: bytes) -> bool:
        found = _HOST.fullmatch(value.decode("latin-1").strip().lower())
        if found is None:
            return False
        name = found[1].removesuffix(".")
        ours = name in self._names or "." not in name or name.endswith(_OF_THIS_MACHINE)
        return ours or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True

"""The visitor's name in a header, which a proxy in front of the server sets after its sign-in.

The header counts only on a connection that comes from a proxy itself: uvicorn replaces the address
of the client by the one that the proxy forwards, so the connection stores the address before that.
"""

from collections.abc import Mapping
from typing import Any

from app.server.config import Settings
from app.server.config.checks import is_within
from app.server.network.guard import PEER

ISSUER = "proxy"  # of identities
_LONGEST = 255  # characters


class ProxyHeader:
    """Reads the header of WALLCLOCK_TRUSTED_USER_HEADER."""

    def __init__(self, settings: Settings) -> None:
        self._name = settings.trusted_user_header.lower().encode()
        self._proxies = settings.proxies

    def __bool__(self) -> bool:
        """Whether the setting is set."""
        return bool(self._name)

    def subject(self, scope: Mapping[str, Any]) -> str:
        """The name that the proxy gives the visitor; empty if it gives none.

        A request with two such headers names nobody: the client may have sent one of them.
        """
        peer = scope.get("state", {}).get(PEER, "")
        if not self._name or not is_within(peer, self._proxies):
            return ""
        values = [value for name, value in scope["headers"] if name == self._name]
        if len(values) != 1:
            return ""
        try:
            text = bytes(values[0]).decode().strip()
        except UnicodeDecodeError:
            return ""
        return text if text.isprintable() and len(text) <= _LONGEST else ""

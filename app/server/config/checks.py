"""What the values of settings may be."""

import os
import re
import shlex
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

# Kubernetes sets variables for each Service, such as one called wallclock or wallclock-db.
_SERVICE = re.compile(r"WALLCLOCK_(\w+_)?(SERVICE_(HOST|PORT)|PORT_\d+_(TCP|UDP|SCTP))(_\w+)?")
_ADDRESS = re.compile(r"(tcp|udp|sctp)://")
# An empty path is none, not the folder in which the server was started.
OptionalPath = Annotated[Path | None, BeforeValidator(lambda given: given or None)]
# A relative path is one from the folder in which the program was started, also in its children.
WholePath = Annotated[Path, AfterValidator(Path.absolute)]


def is_of_a_service(name: str, value: object = None) -> bool:
    """Whether the variable *name* was set by Kubernetes rather than an operator."""
    value = os.environ.get(name, "") if value is None else value
    address = name.endswith("_PORT") and _ADDRESS.match(str(value))
    return bool(_SERVICE.fullmatch(name) or address)


def shell_words(text: str) -> str:
    """*text*, if it is words as on a line of a shell.

    Raises:
        ValueError: it is not.
    """
    if not text.isprintable():
        raise ValueError("it must be a single line")
    shlex.split(text)  # raises ValueError
    return text


def networks(text: str) -> str:
    """*text*, if it is addresses and networks with commas between them.

    Raises:
        ValueError: an entry is neither; the message names it.
    """
    for name in filter(None, map(str.strip, text.split(","))):
        try:
            ip_network(name, strict=False)
        except ValueError:
            raise ValueError(
                f"{name!r} is neither an address such as 10.0.0.7 nor a network such as 10.0.0.0/8"
            ) from None
    return text


def is_within(client: str, allowed: str) -> bool:
    """Whether the address *client* is one of *allowed*, addresses and networks with commas."""
    try:
        address = ip_address(client)
    except ValueError:
        return False
    return any(address in network for network in _networks(allowed))


@cache
def _networks(allowed: str) -> tuple[IPv4Network | IPv6Network, ...]:
    names = filter(None, map(str.strip, allowed.split(",")))
    return tuple(ip_network(name, strict=False) for name in names)

"""`wallclock token`: tokens for the JSON interface."""

import sys
from argparse import Namespace
from collections.abc import Mapping
from datetime import UTC, datetime, time

from app.commands.people import Opened, class_called, opened, print_json
from app.db.tables import TokenRow, now
from app.db.tokens import create_token, list_tokens, revoke_token
from app.errors import InputError
from app.people.classes import number_of


def run(arguments: Namespace) -> int:
    """Create, list or revoke tokens."""
    with opened(writes=arguments.action != "list") as here:
        {"create": _create, "revoke": _revoke, "list": _list}[arguments.action](arguments, here)
    return 0


def _create(arguments: Namespace, here: Opened) -> None:
    found = class_called(here.session, arguments.class_name) if arguments.class_name else None
    if arguments.scope == "class" and found is None:
        raise InputError("a token of scope class needs --class CLASS")
    secret = create_token(
        here.session,
        arguments.name,
        arguments.scope,
        number_of(found) if found else None,
        _end_of(arguments.until) if arguments.until else None,
    )
    sys.stdout.write(f"{secret}\n")
    sys.stderr.write("Copy it now: it is not shown again.\n")


def _revoke(arguments: Namespace, here: Opened) -> None:
    revoke_token(here.session, arguments.name)
    sys.stderr.write(f"{arguments.name} is revoked.\n")


def _list(arguments: Namespace, here: Opened) -> None:
    tokens = list_tokens(here.session)
    if arguments.json:
        print_json([_described(token) for token in tokens])
        return
    for token in tokens:
        scope = f"{token.scope} {token.class_id}" if token.class_id else token.scope
        sys.stdout.write(f"{token.name}\t{token.created:%Y-%m-%d}\t{_state(token)}\t{scope}\n")


def _described(token: TokenRow) -> Mapping[str, object]:
    return {
        "name": token.name,
        "scope": token.scope,
        "class": token.class_id,
        "created": token.created.isoformat(),
        "until": token.until.isoformat() if token.until else None,
        "revoked": token.revoked.isoformat() if token.revoked else None,
    }


def _state(token: TokenRow) -> str:
    if token.revoked:
        return f"revoked {token.revoked:%Y-%m-%d}"
    if token.until is None:
        return "valid"
    return f"{'valid until' if token.until > now() else 'ended'} {token.until:%Y-%m-%d}"


def _end_of(text: str) -> datetime:
    """The last moment of the day that *text* names, in UTC."""
    try:
        day = datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError:
        raise InputError(f"--until takes a date such as 2027-07-31, not {text[:40]!r}") from None
    return datetime.combine(day, time.max, UTC)

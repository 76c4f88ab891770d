"""`wallclock token`: tokens for the JSON interface."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from datetime import UTC, datetime, time

from app.classes.people.classes import number_of
from app.commands.files import add_actions, add_command
from app.commands.people import OpenDatabase, class_called, open_database, print_json
from app.core.errors import InputError
from app.server.db.learner_cookie import create_token, list_tokens, revoke_token
from app.server.db.tables import TokenRow, now


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock token`."""
    actions = add_actions(parser)
    create = add_command(actions, "create", "create a token and print it once")
    create.add_argument("name", metavar="NAME")
    create.add_argument(
        "--scope",
        choices=("check", "class", "admin"),
        default="check",
        help="check: check answers; class: also everything of one class; admin: of all (default: check)",
    )
    create.add_argument("--class", dest="class_name", default="", metavar="CLASS", help="of scope class")
    create.add_argument("--until", default="", metavar="DATE", help="last day, as 2027-07-31")
    add_command(actions, "revoke", "revoke a token").add_argument("name", metavar="NAME")
    listing = add_command(actions, "list", "list names, scopes, dates, and which are revoked")
    listing.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: Namespace) -> int:
    """Create, list or revoke tokens."""
    with open_database(writes=arguments.action != "list") as here:
        {"create": _create, "revoke": _revoke, "list": _list}[arguments.action](arguments, here)
    return 0


def _create(arguments: Namespace, here: OpenDatabase) -> None:
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


def _revoke(arguments: Namespace, here: OpenDatabase) -> None:
    revoke_token(here.session, arguments.name)
    sys.stderr.write(f"{arguments.name} is revoked.\n")


def _list(arguments: Namespace, here: OpenDatabase) -> None:
    tokens = list_tokens(here.session)
    if arguments.json:
        print_json([_described(token) for token in tokens])
        return
    for token in tokens:
        scope = f"{token.scope} {token.class_id}" if token.class_id else token.scope
        sys.stdout.write(f"{token.name}\t{token.created:%Y-%m-%d}\t{_token_state(token)}\t{scope}\n")


def _described(token: TokenRow) -> Mapping[str, object]:
    return {
        "name": token.name,
        "scope": token.scope,
        "class": token.class_id,
        "created": token.created.isoformat(),
        "until": token.until.isoformat() if token.until else None,
        "revoked": token.revoked.isoformat() if token.revoked else None,
    }


def _token_state(token: TokenRow) -> str:
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

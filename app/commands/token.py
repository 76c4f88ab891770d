"""`wallclock token`: tokens for the JSON interface."""

import sys
from argparse import Namespace

from sqlmodel import Session

from app.config import Settings
from app.db.migrations import migrate
from app.db.session import connect, open_session
from app.db.tokens import create_token, list_tokens, revoke_token


def run(arguments: Namespace) -> int:
    """Create, list or revoke tokens."""
    settings = Settings()
    migrate(settings.database)
    engine = connect(settings.database)
    try:
        with open_session(engine) as session:
            _do(arguments, session)
    finally:
        engine.dispose()
    return 0


def _do(arguments: Namespace, session: Session) -> None:
    if arguments.action == "create":
        sys.stdout.write(f"{create_token(session, arguments.name)}\n")
        sys.stderr.write("Copy it now: it is not shown again.\n")
    elif arguments.action == "revoke":
        revoke_token(session, arguments.name)
        sys.stderr.write(f"{arguments.name} is revoked.\n")
    else:
        for token in list_tokens(session):
            revoked = f"revoked {token.revoked:%Y-%m-%d}" if token.revoked else "valid"
            sys.stdout.write(f"{token.name}\t{token.created:%Y-%m-%d}\t{revoked}\n")

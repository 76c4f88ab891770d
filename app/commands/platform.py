"""`wallclock platform`: the learning platforms that open assignments here (LTI 1.3)."""

import asyncio
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict

from app.classes.federation.lti import platforms
from app.classes.federation.lti.platforms import Platform
from app.classes.federation.providers import target_of
from app.commands.files import add_actions
from app.commands.people import OpenDatabase, open_database
from app.core.errors import InputError, RefusedError, UnavailableError
from app.server.config import Settings

_CANVAS = {
    "issuer": "https://canvas.instructure.com",
    "auth_url": "https://sso.canvaslms.com/api/lti/authorize_redirect",
    "token_url": "https://sso.canvaslms.com/login/oauth2/token",
    "jwks_url": "https://sso.canvaslms.com/api/lti/security/jwks",
}
_MOODLE = {
    "issuer": "",
    "auth_url": "/mod/lti/auth.php",
    "token_url": "/mod/lti/token.php",
    "jwks_url": "/mod/lti/certs.php",
}
_MISSING = "learning platforms need packages that are not installed: install wallclock[people]"


_ADD = (
    "Register a learning platform (LMS) with the values that it shows for the tool. Of a Moodle, "
    "the address and the client ID are enough; of Canvas, the client ID is."
)


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock platform`."""
    actions = add_actions(parser)
    adding = actions.add_parser("add", help="register a platform", description=_ADD)
    adding.add_argument("name", metavar="NAME", help='how you call it, such as "Our Moodle"')
    adding.add_argument("--moodle", metavar="URL", help="the address of a Moodle")
    adding.add_argument("--canvas", action="store_true", help="Canvas in Instructure's cloud")
    adding.add_argument("--client", required=True, metavar="ID", help="the client ID it shows")
    adding.add_argument(
        "--deployment",
        action="append",
        default=[],
        metavar="ID",
        help="a deployment ID that may launch; may be repeated, and added later with allow",
    )
    for name, says in (
        ("issuer", "the platform's issuer, often called platform ID"),
        ("auth-url", "its authentication request URL"),
        ("token-url", "its access token URL"),
        ("jwks-url", "its public key set URL"),
        ("audience", "the audience of a token request (default: the access token URL)"),
    ):
        adding.add_argument(f"--{name}", default="", metavar="URL", help=says)
    listing = actions.add_parser("list", help="list platforms, and what may launch")
    testing = actions.add_parser("test", help="read its keys, and ask it for tokens")
    allowing = actions.add_parser("allow", help="activate a platform, or allow a deployment")
    linking = actions.add_parser("link", help="print a link by which a platform registers itself, once")
    actions.add_parser("rotate", help="sign with the next key from now on, as after a leak")
    removing = actions.add_parser("remove", help="remove a platform; classes and people stay")
    for action in (testing, allowing, linking, removing):
        action.add_argument("name", metavar="NAME")
    allowing.add_argument("deployment", nargs="?", default="", metavar="DEPLOYMENT")
    for action in (listing, testing):
        action.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: Namespace) -> int:
    """Add, list, test, allow, link or remove platforms; 1 if a test fails."""
    with open_database(writes=arguments.action not in ("list", "test")) as here:
        if arguments.action == "test":
            return _test(arguments, here)
        _ACTIONS[arguments.action](arguments, here)
    return 0


def _add(arguments: Namespace, here: OpenDatabase) -> None:
    made = platforms.register_platform(here.session, _described_platform(arguments, here.settings))
    for deployment in arguments.deployment:
        platforms.allow_deployment(here.session, made, deployment)
    here.session.commit()
    sys.stdout.write(f"{made.name} is registered. In the platform, enter:\n{_addresses(here.settings)}")
    if not arguments.deployment:
        sys.stderr.write("No deployment may launch yet: a first launch is refused with the command that allows it.\n")


def _list_platforms(arguments: Namespace, here: OpenDatabase) -> None:
    found = [(one, platforms.deployments(here.session, one)) for one in platforms.platforms(here.session)]
    if arguments.json:
        rows = [{**asdict(one), "deployments": list(allowed)} for one, allowed in found]
        sys.stdout.write(f"{json.dumps(rows, indent=2)}\n")
        return
    for one, allowed in found:
        state = "active" if one.active else "inactive"
        which = ", ".join(allowed) or "none"
        sys.stdout.write(f"{one.name}\t{one.issuer}\t{one.client_id}\t{state}\tdeployments: {which}\n")


def _allow(arguments: Namespace, here: OpenDatabase) -> None:
    platform = platforms.platform_named(here.session, arguments.name)
    platforms.activate(here.session, platform)
    if arguments.deployment:
        platforms.allow_deployment(here.session, platform, arguments.deployment)
    here.session.commit()
    allowed = platforms.deployments(here.session, platform)
    sys.stderr.write(f"{platform.name} is active; deployments that may launch: {', '.join(allowed) or 'none'}.\n")


def _link(arguments: Namespace, here: OpenDatabase) -> None:
    if not here.settings.url:
        raise InputError("set WALLCLOCK_URL to the public address of the site, such as https://wallclock.example.org")
    address = here.settings.url
    if arguments.name in {platform.name for platform in platforms.platforms(here.session)}:
        raise InputError(f"a platform called {arguments.name!r} already exists; choose another name")
    code = platforms.new_registration(here.session, arguments.name)
    here.session.commit()
    sys.stdout.write(f"{address}/lti/register?code={code}\n")
    sys.stderr.write(
        f"Enter it in the platform as the registration URL of a new tool. It works once, within "
        f"{platforms.REGISTRATION_LIFE.days} days; then run: wallclock platform allow {arguments.name!r}\n"
    )


def _remove(arguments: Namespace, here: OpenDatabase) -> None:
    platforms.remove_platform(here.session, platforms.platform_named(here.session, arguments.name))
    here.session.commit()
    sys.stderr.write(f"{arguments.name} is removed; its classes and their people stay.\n")


def _rotate(arguments: Namespace, here: OpenDatabase) -> None:
    try:
        from app.classes.federation.lti.scores import rotate
    except ModuleNotFoundError as error:
        raise UnavailableError(_MISSING, str(error)) from error
    rotate(here.session)
    sys.stderr.write("The key that platforms knew as the next one signs from now on.\n")


def _test(arguments: Namespace, here: OpenDatabase) -> int:
    try:
        from app.classes.federation.http_client import Outgoing
        from app.classes.federation.lti.scores import PlatformCheck, Services, trials
    except ModuleNotFoundError as error:
        raise UnavailableError(_MISSING, str(error)) from error
    platform = platforms.platform_named(here.session, arguments.name)

    async def tried() -> Sequence[PlatformCheck]:
        outgoing = Outgoing(private=here.settings.private_hosts)
        services = Services(outgoing, here.engine)
        return [trial async for trial in trials(outgoing, services, platform)]

    found = asyncio.run(tried())
    if arguments.json:
        sys.stdout.write(f"{json.dumps([asdict(trial) for trial in found], indent=2)}\n")
    else:
        for trial in found:
            sys.stdout.write(f"{'ok' if trial.right else 'FAILED'}\t{trial.what}\t{trial.says}\n")
    return 0 if all(trial.right for trial in found) else 1


_ACTIONS = {"add": _add, "list": _list_platforms, "allow": _allow, "link": _link, "remove": _remove, "rotate": _rotate}


def _described_platform(arguments: Namespace, settings: Settings) -> Platform:
    """The platform that the options describe.

    Raises:
        InputError: an address is missing, or not one that may be asked.
    """
    known = _known(arguments)
    values = {name: getattr(arguments, name) or known.get(name, "") for name in _MOODLE}
    missing = [f"--{name.replace('_', '-')}" for name, value in values.items() if not value]
    if missing:
        raise InputError(
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; a Moodle needs "
            "only --moodle, and Canvas only --canvas"
        )
    for name in ("auth_url", "token_url", "jwks_url"):
        try:
            target_of(values[name], settings.private_hosts)
        except RefusedError as error:
            raise InputError(f"{error} (a host in your own network: WALLCLOCK_PRIVATE_HOSTS)") from error
    return Platform(
        name=arguments.name,
        client_id=arguments.client,
        token_audience=arguments.audience,
        issuer=values["issuer"],
        auth_url=values["auth_url"],
        token_url=values["token_url"],
        jwks_url=values["jwks_url"],
    )


def _known(arguments: Namespace) -> dict[str, str]:
    if arguments.moodle:
        base = arguments.moodle.rstrip("/")
        return {name: f"{base}{path}" for name, path in _MOODLE.items()}
    return _CANVAS if arguments.canvas else {}


def _addresses(settings: Settings) -> str:
    base = settings.url or "https://YOUR-ADDRESS"
    return (
        f"  tool, redirect and deep linking URL  {base}/lti/launch\n"
        f"  login URL                            {base}/lti/login\n"
        f"  public key set URL                   {base}/lti/jwks\n"
    )

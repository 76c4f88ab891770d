"""The message of a launch, read into what we use of it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from app.classes.federation.lti.roles import role_of
from app.classes.federation.lti.vocabulary import CLAIM, DEEP_LINK, DEEP_LINKING, GRADES, RESOURCE_LINK, ROSTER, VERSION
from app.classes.people.classes import Role
from app.core.errors import RefusedError
from app.core.translation import translate
from app.server.db.people import SUBJECT_LIMIT
from app.server.db.platforms import ADDRESS_LIMIT
from app.server.db.tables import NAME_LIMIT
from app.server.network.response_policy import origin_of

Fields = Mapping[str, object]
_LONGEST_GROUP = 300  # characters of a list of names
_LONGEST_DATA = 16_000  # characters that a platform gets back with a choice


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Who came from which course of a platform, and to open what.

    *role* is empty if they are neither student nor teacher. *group* is that of the course, such as
    a section, if the platform names one. *assignment* is the number that our
    link has, or 0. *answer_to* is where the choice of a teacher is sent (deep linking); *origins*
    are those of the pages that may show ours in a frame.
    """

    platform: int
    deployment: str
    subject: str
    role: str
    name: str = ""
    outside_id: str = ""
    group: str = ""
    context: str = ""
    title: str = ""
    link: str = ""
    link_title: str = ""
    assignment: int = 0
    lineitem: str = ""
    lineitems: str = ""
    memberships: str = ""
    answer_to: str = ""
    answer_data: str = ""
    several: bool = False
    origins: tuple[str, ...] = ()

    @property
    def teaches(self) -> bool:
        """Whether the person is a teacher of the course."""
        return self.role == Role.TEACHER.word


def launch_of(values: Fields) -> Launch:
    """The launch with those values, as they come out of a ticket."""
    known = {field.name for field in fields(Launch)}
    given = {name: value for name, value in values.items() if name in known}
    return Launch(**{**given, "origins": tuple(given["origins"])})  # type: ignore[arg-type]


def read_launch(platform: int, claims: Fields, service: str) -> Launch:
    """The launch in verified *claims*; *service* is our own address.

    Raises:
        RefusedError: it is not a message of LTI 1.3 that we answer.
    """
    kind = _text(claims, CLAIM + "message_type")
    if claims.get(CLAIM + "version") != VERSION or kind not in (RESOURCE_LINK, DEEP_LINK):
        raise RefusedError(
            translate(
                "the platform sent the message {kind!r} of version {claims!r}; this site answers "
                "{resource_link} and {deep_link} of version {version}",
                kind=kind[:60],
                claims=str(claims.get(CLAIM + "version"))[:20],
                resource_link=RESOURCE_LINK,
                deep_link=DEEP_LINK,
                version=VERSION,
            )
        )
    _check_target(_text(claims, CLAIM + "target_link_uri"), service)
    context, grades = _fields(claims, CLAIM + "context"), _fields(claims, GRADES)
    link = _fields(claims, CLAIM + "resource_link")
    choice = _fields(claims, DEEP_LINKING + "deep_linking_settings") if kind == DEEP_LINK else {}
    lineitems = _address(grades, "lineitems")
    memberships = _address(_fields(claims, ROSTER), "context_memberships_url")
    answer_to = _address(choice, "deep_link_return_url")
    role = role_of(claims.get(CLAIM + "roles"))
    launch = Launch(
        platform=platform,
        deployment=_short(claims, CLAIM + "deployment_id"),
        subject=_text(claims, "sub"),
        role=role.word if role else "",
        name=name_in(claims),
        outside_id=_outside_id(claims),
        group=_group(claims, _text(context, "title")),
        context=_short(context, "id"),
        title=_name(_text(context, "title") or _text(context, "label")),
        link=_short(link, "id"),
        link_title=_name(_text(link, "title")),
        assignment=_number(_fields(claims, CLAIM + "custom").get("assignment")),
        lineitem=_address(grades, "lineitem"),
        lineitems=lineitems,
        memberships=memberships,
        answer_to=answer_to,
        answer_data=_data(choice),
        several=choice.get("accept_multiple", True) is not False,
        origins=_origins(
            (_address(_fields(claims, CLAIM + "launch_presentation"), "return_url"), answer_to),
            (lineitems, memberships, _text(claims, "iss")),
        ),
    )
    _check(launch, choice, kind)
    return launch


def name_in(given: Fields) -> str:
    """The name of a person in claims or a roster; empty if the platform does not tell it."""
    parts = (_text(given, "given_name"), _text(given, "family_name"))
    return _name(_text(given, "name") or " ".join(part for part in parts if part))


def _check(launch: Launch, choice: Fields, kind: str) -> None:
    if not launch.deployment:
        raise RefusedError(translate("the platform sent no deployment_id"))
    if not launch.context:
        raise RefusedError(translate("the platform sent no course; open this link from within a course"))
    if kind == RESOURCE_LINK and not launch.link:
        raise RefusedError(translate("the platform sent no resource link; open this link from the course"))
    if kind == DEEP_LINK:
        _check_choice(launch, choice)


def _check_choice(launch: Launch, choice: Fields) -> None:
    if not launch.teaches:
        raise RefusedError(translate("only teachers of a course choose its assignments"))
    if not launch.answer_to:
        raise RefusedError(translate("the platform sent no deep_link_return_url"))
    accepted = choice.get("accept_types")
    if not isinstance(accepted, list) or "ltiResourceLink" not in accepted:
        raise RefusedError(translate("the platform does not accept links here: choose another kind of item"))


def _check_target(target: str, service: str) -> None:
    if target and origin_of(target) != origin_of(service):
        raise RefusedError(
            translate(
                "the target of this launch is {target!r}, which is not on {service}; correct the "
                "address of the tool in the platform",
                target=target[:200],
                service=service,
            )
        )


def _origins(*groups: Iterable[str]) -> tuple[str, ...]:
    found = (origin_of(url) for group in groups for url in group)
    return tuple(dict.fromkeys(filter(None, found)))


def _fields(values: Fields, name: str) -> Fields:
    found = values.get(name)
    return found if isinstance(found, dict) else {}


def _text(values: Fields, name: str) -> str:
    found = values.get(name)
    return found if isinstance(found, str) else ""


def _short(values: Fields, name: str) -> str:
    """A text that names something; one that is not plain is refused, never cut or cleaned."""
    found = _text(values, name)
    if len(found) > SUBJECT_LIMIT or not found.isprintable():
        raise RefusedError(
            translate(
                "{name} has more than {subject_limit} characters, or some that cannot be printed",
                name=name.rpartition("/")[2],
                subject_limit=SUBJECT_LIMIT,
            )
        )
    return found


def _address(values: Fields, name: str) -> str:
    found = _text(values, name)
    return found if len(found) <= ADDRESS_LIMIT and origin_of(found) else ""


def _name(text: str) -> str:
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printable.split())[:NAME_LIMIT].rstrip()


def _outside_id(claims: Fields) -> str:
    """The person's id in other systems; Canvas fills the custom parameter that we ask for."""
    own = _short(_fields(claims, CLAIM + "custom"), "sis_user_id")
    given = _short(_fields(claims, CLAIM + "lis"), "person_sourcedid") or own
    return "" if given.startswith("$") else given  # a variable that the platform did not fill


def _group(claims: Fields, title: str) -> str:
    """The group of the person in the course, from the custom parameter *group*.

    Canvas fills it with a list of sections. Nobody is in several groups here; and the only section
    of a course has the name of the course, so it tells nobody apart.
    """
    said = _text(_fields(claims, CLAIM + "custom"), "group")[:_LONGEST_GROUP]
    if said.startswith("["):
        try:
            names = json.loads(said)
        except ValueError:
            return ""
        said = names[0] if len(names) == 1 and isinstance(names[0], str) else ""
    found = _name(said)
    return "" if found.startswith("$") or found == _name(title) else found


def _number(value: object) -> int:
    """The number in a custom parameter, which platforms send as text."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(2**53)) else 0


def _data(choice: Fields) -> str:
    data = _text(choice, "data")
    if len(data) > _LONGEST_DATA:
        raise RefusedError(
            translate("the platform sent more than {longest_data:,} characters of data", longest_data=_LONGEST_DATA)
        )
    return data

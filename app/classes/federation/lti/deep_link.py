"""The answer to a teacher's choice of assignments in a platform (deep linking)."""

import secrets
from collections.abc import Mapping, Sequence

from joserfc import jwk

from app.classes.federation.lti.keys import sign_claims
from app.classes.federation.lti.launch_message import Launch
from app.classes.federation.lti.platforms import Platform
from app.classes.federation.lti.scores import terms_of
from app.classes.federation.lti.vocabulary import CLAIM, DEEP_LINK_ANSWER, DEEP_LINKING, LAUNCH, TAG, VERSION
from app.classes.people.assignments import Assignment


def answer_with(key: jwk.RSAKey, platform: Platform, launch: Launch, chosen: Sequence[Assignment], service: str) -> str:
    """The signed message that adds links to *chosen* assignments to a course."""
    data = {DEEP_LINKING + "data": launch.answer_data} if launch.answer_data else {}
    return sign_claims(
        key,
        {
            "iss": platform.client_id,
            "aud": [platform.issuer],
            "nonce": secrets.token_urlsafe(16),
            CLAIM + "deployment_id": launch.deployment,
            CLAIM + "message_type": DEEP_LINK_ANSWER,
            CLAIM + "version": VERSION,
            DEEP_LINKING + "content_items": [_item(one, service) for one in chosen],
            **data,
        },
    )


def _item(assignment: Assignment, service: str) -> Mapping[str, object]:
    """A link to an assignment, in a window of its own, with a column for its points."""
    return {
        "type": "ltiResourceLink",
        "title": assignment.title,
        "url": f"{service}{LAUNCH}",
        "custom": {"assignment": str(assignment.id)},
        "window": {"targetName": "_blank"},
        "lineItem": {
            "scoreMaximum": assignment.points or 1.0,
            "label": assignment.title,
            "resourceId": f"assignment-{assignment.id}",
            "tag": TAG,
        },
        **_submission(assignment),
    }


def _submission(assignment: Assignment) -> Mapping[str, object]:
    """The dates of an assignment, where it has some, as the platform's calendar takes them."""
    terms = terms_of(assignment).fields()
    dates = {name: date for name, date in terms.items() if name.endswith("DateTime")}
    return {"submission": dates} if dates else {}

"""What Canvas asks of a tool, besides what LTI says: where it appears, and what it is told.

Sources:
    Instructure, Registering an LTI Tool, and Manually Configuring LTI Advantage Tools
    (https://developerdocs.instructure.com/services/canvas).
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from app.classes.federation.lti.launch_message import DEEP_LINK, LAUNCH, SCOPES

PREFIX = "https://canvas.instructure.com/lti/"
# Where graded assignments are made, the menu of all assignments, and modules.
PLACEMENTS = ("assignment_selection", "course_assignments_menu", "link_selection")
# Canvas tells the id of a registrar under this name alone, unless it tells e-mail addresses, too.
CUSTOM = {"sis_user_id": "$Canvas.user.sisSourceId", "group": "$com.instructure.User.sectionNames"}
_TITLE = "Wallclock"
_SAYS = "Exercises in the arithmetic of distributed training"
_OWN_DOMAINS = (".instructure.com", ".canvaslms.com")


def canvas_configuration(service: str) -> Mapping[str, Any]:
    """The JSON that an administrator of Canvas pastes, or whose address they enter."""
    launch = f"{service}{LAUNCH}"
    placements = [
        {"placement": name, "message_type": DEEP_LINK, "target_link_uri": launch, "text": _TITLE} for name in PLACEMENTS
    ]
    return {
        "title": _TITLE,
        "description": _SAYS,
        "oidc_initiation_url": f"{service}/lti/login",
        "target_link_uri": launch,
        "scopes": list(SCOPES),
        "public_jwk_url": f"{service}/lti/jwks",
        "custom_fields": CUSTOM,
        "extensions": [
            {
                "domain": urlsplit(service).netloc,
                "tool_id": "wallclock",
                "platform": "canvas.instructure.com",
                "privacy_level": "name_only",
                "settings": {"text": _TITLE, "placements": placements},
            }
        ],
    }


def hosts_issuer(issuer: str, configuration: str) -> bool:
    """Whether Canvas describes *issuer* at the address *configuration*.

    All of its hosted sites have one issuer, and describe themselves at hosts of their own.
    """
    own, there = (urlsplit(url).hostname or "" for url in (issuer, configuration))
    is_canvas = own in {f"canvas{kind}.instructure.com" for kind in ("", ".beta", ".test")}
    https = configuration.startswith("https://")
    return is_canvas and https and there.endswith(_OWN_DOMAINS)

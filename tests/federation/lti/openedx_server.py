# ruff: noqa: ANN001, ANN002, ANN201
# mypy: ignore-errors
"""Open edX's own LTI 1.3 platform, served alone, in an environment of its own.

What the LMS around it would answer (who may, who is enrolled, where grades go) is a stub here; the
messages, tokens, keys, claims, scopes and checks are Open edX's. Run it with a port, the address
of the tool and the number of members.

    GET  /go?user=7&role=student   a launch (role=instructor&deep=1: a teacher chooses)
    GET  /frame?...                a course page that has the launch in a frame
    GET  /config                   what a tool has to know, JSON
    GET  /grades                   what has arrived in the gradebook, JSON
    POST /rotate                   a new key of the platform
"""

import json
import sys
import tempfile
from pathlib import Path
from socketserver import ThreadingMixIn
from types import SimpleNamespace
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from django.conf import settings

PORT, TOOL, MEMBERS = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
BASE = f"http://localhost:{PORT}"
GRADES = {}

settings.configure(
    DEBUG=False,
    DEBUG_PROPAGATE_EXCEPTIONS=True,
    SECRET_KEY="for tests only",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=[
        "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "rest_framework",
        "django_filters", "waffle", "lti_consumer.apps.LTIConsumerApp",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "edx_django_utils.cache.middleware.RequestCacheMiddleware",
    ],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(Path(tempfile.mkdtemp(prefix="openedx-")) / "db.sqlite3"),
            "OPTIONS": {"timeout": 30},
        }
    },
    CACHES={"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}},
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
    USAGE_ID_PATTERN=r"(?P<usage_id>(?:i4x://?[^/]+/[^/]+/[^/]+/[^@]+(?:@[^/]+)?)|(?:[^/]+))",
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    LMS_ROOT_URL=BASE, LTI_BASE=BASE, LTI_API_BASE=BASE,
    PLATFORM_NAME="Open edX alone",
    FEATURES={},
    REST_FRAMEWORK={"PAGE_SIZE": 10},
    USE_TZ=True,
    LANGUAGE_CODE="en",
    STATIC_URL="/static/",
)  # fmt: skip

from lti_consumer.plugin import compat  # noqa: E402

PEOPLE = {
    number: {
        "id": number, "username": f"user{number}", "email": f"user{number}@example.org", "name": f"User {number}",
        "roles": ["staff"] if number == 1 else ["student"],
    }
    for number in range(1, MEMBERS + 1)
}  # fmt: skip


class Block(SimpleNamespace):
    """A component of a course, as the LMS would load it."""

    def set_user_module_score(self, user, score, maximum, comment=""):
        GRADES[user] = {"score": score, "maximum": maximum, "comment": comment}

    def is_past_due(self):
        return False

    def max_score(self):
        return 10.0


BLOCK = Block(
    lti_1p3_passport_id=None, display_name="Wallclock", context_id=None, weight=10.0, has_score=True,
    accept_grades_past_due=True, start=None, due=None, scope_ids=SimpleNamespace(usage_id="block"),
)  # fmt: skip
for name in (
    "get_external_config_waffle_flag", "get_external_user_id_1p1_launches_waffle_flag",
    "get_database_config_waffle_flag", "get_external_multiple_launch_urls_waffle_flag",
):  # fmt: skip
    setattr(compat, name, lambda: SimpleNamespace(is_enabled=lambda key=None: False))
compat.load_enough_xblock = compat.load_block_as_user = lambda *a, **k: BLOCK
compat.user_has_studio_write_access = compat.user_course_access = compat.user_has_access = lambda *a, **k: True
compat.get_course_by_id = lambda key: None
compat.get_user_from_external_user_id = lambda one: one
compat.get_course_members = lambda key: {number: dict(one) for number, one in PEOPLE.items()}
compat.merge_course_forum_roles = lambda *a: None
compat.nrps_pii_disallowed = lambda: False
django.setup()

from django.core.management import call_command  # noqa: E402
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse  # noqa: E402
from django.urls import include, path  # noqa: E402
from django.views.decorators.csrf import csrf_exempt  # noqa: E402
from lti_consumer import models  # noqa: E402
from lti_consumer.api import get_lti_1p3_launch_info, get_lti_1p3_launch_start_url  # noqa: E402
from lti_consumer.data import Lti1p3LaunchData  # noqa: E402
from lti_consumer.plugin import views  # noqa: E402
from opaque_keys.edx.keys import UsageKey  # noqa: E402

views.LtiNrpsContextMembershipViewSet.attach_external_user_ids = lambda self, people: [
    one.update(external_id=f"u{number}") for number, one in people.items()
]


def setup():
    call_command("migrate", verbosity=0)
    passport = models.Lti1p3Passport.objects.create(name="wallclock", lti_1p3_tool_keyset_url=f"{TOOL}/lti/jwks")
    return models.LtiConfiguration.objects.create(
        version="lti_1p3", config_store="CONFIG_ON_DB", lti_1p3_passport=passport,
        location=UsageKey.from_string("block-v1:Uni+WC1+2026+type@lti_consumer+block@one"),
        lti_1p3_oidc_url=f"{TOOL}/lti/login", lti_1p3_launch_url=f"{TOOL}/lti/launch",
        lti_1p3_redirect_uris=[f"{TOOL}/lti/launch"], lti_advantage_enable_nrps=True,
        lti_advantage_deep_linking_enabled=True,
        lti_advantage_deep_linking_launch_url=f"{TOOL}/lti/launch", lti_advantage_ags_mode="programmatic",
    )  # fmt: skip


CONFIG = setup()


def launch_data(request, user):
    named = {"name": f"User {user}"} if "name" in request.GET else {}
    return Lti1p3LaunchData(
        user_id=user, external_user_id=f"u{user}", user_role=request.GET.get("role", "student"),
        config_id=CONFIG.config_id, resource_link_id=str(CONFIG.location),
        launch_presentation_document_target="iframe",
        context_id="course-v1:Uni+WC1+" + request.GET.get("course", "2026"),
        context_type=["course_offering"], context_title="Wall clocks", context_label="WC1", **named,
    )  # fmt: skip


def go(request):
    item = models.LtiDlContentItem.objects.filter(lti_configuration=CONFIG).first()
    deep = "deep" in request.GET
    plain = deep or "plain" in request.GET
    return HttpResponseRedirect(
        get_lti_1p3_launch_start_url(
            launch_data(request, request.GET.get("user", "7")), deep_link_launch=deep,
            dl_content_id=item.id if item and not plain else None,
        )
    )  # fmt: skip


def frame(request):
    page = """<!doctype html><title>Course</title><h1>Course</h1>
<iframe id=tool name=tool src="/go?%s" width=900 height=560></iframe>
<script>const kept = {}; addEventListener("message", (event) => {
  const asked = event.data || {}, back = { subject: asked.subject + ".response", message_id: asked.message_id };
  if (asked.subject === "lti.put_data") {
    kept[event.origin + asked.key] = asked.value; back.key = asked.key; back.value = asked.value;
  } else if (asked.subject === "lti.get_data") { back.key = asked.key; back.value = kept[event.origin + asked.key]; }
  else return;
  event.source.postMessage(back, event.origin); });</script>"""
    return HttpResponse(page % request.META["QUERY_STRING"])


def config(request):
    # It keeps a launch that chooses by user and link: not over one of a member.
    info = get_lti_1p3_launch_info(launch_data(request, "nobody"))
    return JsonResponse(
        {
            "issuer": BASE, "client_id": info["client_id"], "deployment_id": info["deployment_id"],
            "auth_url": info["oidc_callback"], "token_url": info["token_url"], "jwks_url": info["keyset_url"],
        }
    )  # fmt: skip


def grades(request):
    items = models.LtiAgsLineItem.objects.values(
        "id", "label", "score_maximum", "resource_id", "resource_link_id", "tag"
    )
    scores = [
        {"user": one.user_id, "given": one.score_given, "of": one.score_maximum, "at": one.timestamp.timestamp()}
        for one in models.LtiAgsScore.objects.all()
    ]
    content = [item.attributes for item in models.LtiDlContentItem.objects.all()]
    found = {"gradebook": GRADES, "line_items": list(items), "scores": scores, "content": content}
    return HttpResponse(json.dumps(found, default=str), content_type="application/json")


@csrf_exempt
def rotate(request):
    passport = CONFIG.lti_1p3_passport
    passport.lti_1p3_internal_private_key = passport.lti_1p3_internal_private_key_id = ""
    passport.lti_1p3_internal_public_jwk = ""
    passport.save()
    return JsonResponse({"keys": passport.lti_1p3_public_jwk}, json_dumps_params={"default": str})


urlpatterns = [
    path("go", go), path("frame", frame), path("config", config), path("grades", grades), path("rotate", rotate),
    path("api/", include("lti_consumer.plugin.urls")),
]  # fmt: skip


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 64


class Quiet(WSGIRequestHandler):
    def log_message(self, *given):
        pass


if __name__ == "__main__":
    from django.core.handlers.wsgi import WSGIHandler

    make_server("127.0.0.1", PORT, WSGIHandler(), server_class=Server, handler_class=Quiet).serve_forever()

"""Every module of pages and of calls, of the site and of its parts."""

from app.main import installed_parts
from app.site import api, web

PAGES = (*web.PARTS, *(page for part in installed_parts() for page in part.pages))
CALLS = (*api.PARTS, *(call for part in installed_parts() for call in part.calls))

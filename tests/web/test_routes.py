"""Every page that was written is served, and served once."""

from importlib import import_module
from pkgutil import walk_packages

from fastapi.routing import APIRoute

from app import web
from app.web import PARTS


def test_every_module_with_a_router_is_a_part_of_the_site_once() -> None:
    modules = (import_module(found.name) for found in walk_packages(web.__path__, "app.web."))
    written = sorted(module.__name__ for module in modules if hasattr(module, "router"))
    assert sorted(part.__name__ for part in PARTS) == written


def test_no_address_is_registered_twice() -> None:
    routes = [
        (method, route.path)
        for part in PARTS
        for route in part.router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    ]
    assert len(routes) > 20
    assert sorted(set(routes)) == sorted(routes)

"""A window of WebKitGTK that WebDriver opens; the system's Python runs it, which has the bindings.

WebKit's own small browser cannot be as narrow as a phone, and keeps to itself what goes wrong on a page:
here, each error of a script, each answer with an error, and what a policy forbids is a line that is printed.
"""

from typing import Any

import gi  # type: ignore[import-not-found]

gi.require_version("Gtk", "3.0")
gi.require_version("WebKit2", "4.1")
from gi.repository import Gtk, WebKit2  # type: ignore[import-not-found]  # noqa: E402

ERROR = 400  # statuses from here on
HEARS = """
const tell = (text) => webkit.messageHandlers.heard.postMessage(`${text} (${location.href})`);
let left = false;  // what a page still loads when it is left fails
addEventListener("beforeunload", () => { left = true; });
addEventListener("error", (event) => { if (event.message || !left) tell(event.message ?? event.target.outerHTML); }, true);
addEventListener("unhandledrejection", (event) => tell(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => tell(`${event.violatedDirective}: ${event.blockedURI}`));
"""


def main() -> None:
    """Wait for WebDriver, and give it a window."""
    context = WebKit2.WebContext.new_ephemeral()
    context.set_automation_allowed(True)
    context.connect("automation-started", begin, context)
    Gtk.main()


def begin(_: Any, session: Any, context: Any) -> None:
    """The session of WebDriver wants a view."""
    session.connect("create-web-view", lambda _: view_in(context))


def view_in(context: Any) -> Any:
    """A page in a window without anything else."""
    heard = WebKit2.UserContentManager()
    heard.register_script_message_handler("heard")
    heard.connect("script-message-received::heard", lambda _, said: tell(said.get_js_value().to_string()))
    frames, time = WebKit2.UserContentInjectedFrames, WebKit2.UserScriptInjectionTime
    heard.add_script(WebKit2.UserScript(HEARS, frames.ALL_FRAMES, time.START, None, None))
    view = WebKit2.WebView(web_context=context, is_controlled_by_automation=True, user_content_manager=heard)
    view.connect("resource-load-started", lambda _, resource, __: resource.connect("finished", finished))
    view.get_settings().set_enable_page_cache(True)
    window = Gtk.Window(default_width=1280, default_height=900)
    window.add(view)
    window.show_all()
    return view


def finished(resource: Any) -> None:
    """An answer has come."""
    answer = resource.get_response()
    if answer and answer.get_status_code() >= ERROR:
        tell(f"{answer.get_status_code()}: {resource.get_uri()}")


def tell(text: str) -> None:
    """Print one line that the test reads."""
    print("heard:", " ".join(text.split()), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()

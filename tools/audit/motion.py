"""How fast explorers answer, how smoothly they move, and whether anything jumps."""

import statistics
from collections.abc import Iterator, Mapping

from playwright.sync_api import Browser, Locator, Page

from app.course.explorers import EXPLORERS
from tests.bench.figures import Figure
from tools.audit.largest import largest_address

_PRESSES = 12
_FEW = 6  # presses, where every explorer is measured
_WATCH = """() => {
  window.seen = {events: [], shift: 0};
  new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
    if (entry.name === "input" || entry.name.startsWith("key")) window.seen.events.push(entry.duration);
  })).observe({type: "event", durationThreshold: 16, buffered: true});
  new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
    if (!entry.hadRecentInput) window.seen.shift += entry.value;
  })).observe({type: "layout-shift", buffered: true});
  window.shown = [];
  let asked = 0;
  addEventListener("input", () => (asked = performance.now()), true);
  new MutationObserver(() => asked && (window.shown.push(performance.now() - asked), (asked = 0)))
    .observe(document.querySelector("#explored").parentNode, {childList: true});
}"""
_FRAMES = """() => new Promise((done) => {
  let frames = 0;
  const start = performance.now();
  const tick = () => {
    frames += 1;
    if (performance.now() - start < 2000) requestAnimationFrame(tick);
    else done((1000 * frames) / (performance.now() - start));
  };
  requestAnimationFrame(tick);
})"""
_STATES: Mapping[str, tuple[str, str]] = {
    "pipeline, default": ("/explore/pipeline?show=1", "microbatches"),
    "pipeline, p=16 m=64": ("/explore/pipeline?stages=16&microbatches=63", "microbatches"),
    "pipeline, p=16 m=64, two": (
        "/explore/pipeline?schedule=zb_h1&against=dualpipe&stages=16&microbatches=63",
        "microbatches",
    ),
    "fit": ("/explore/fit?show=1", "tensor"),
    "ring": ("/explore/ring?show=1", "ranks"),
    "memory": ("/explore/memory?show=1", "ranks"),
}


def measure(origin: str, browser: Browser) -> Iterator[Figure]:
    """Event Timing, time until the new figure stands, frames a second, shifts."""
    for name, (path, control) in _STATES.items():
        for throttle, goal in ((1, 100), (4, 200)):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(origin + path)
            page.evaluate(_WATCH)
            if throttle > 1:
                session = page.context.new_cdp_session(page)
                session.send("Emulation.setCPUThrottlingRate", {"rate": throttle})
            events, shown, shift = _used(page, control)
            slow = f", CPU ÷ {throttle}" if throttle > 1 else ""
            yield Figure(f"{name}{slow}: interaction, longest", max(events), "ms", goal)
            yield Figure(f"{name}{slow}: until it is shown, median", shown, "ms")
            if throttle == 1:
                yield Figure(f"{name}: layout shift", shift, "", 0.02)
            if name.startswith("pipeline, p=16") or throttle == 1:
                yield from _smooth(page, name + slow)
            page.close()


def longest(origin: str, browser: Browser) -> Iterator[Figure]:
    """The longest event of every explorer, as it starts and in its largest state, CPU ÷ 4."""
    for name, explorer in EXPLORERS.items():
        for state, path in (("default", f"/explore/{name}?show=1"), ("largest", largest_address(explorer))):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(origin + path)
            page.evaluate(_WATCH)
            session = page.context.new_cdp_session(page)
            session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
            _press(page, page.locator(".control .slide, .control select").first, _FEW)
            events = page.evaluate("window.seen.events")
            yield Figure(f"{name}, {state}: longest event", max([0, *events]), "ms", 200)
            page.close()


def _used(page: Page, control: str) -> tuple[list[float], float, float]:
    _press(page, page.locator(f'[data-for="{control}"]'), _PRESSES)
    seen = page.evaluate("window.seen")
    return [0.0, *seen["events"]], statistics.median(page.evaluate("window.shown")), seen["shift"]


def _press(page: Page, control: Locator, times: int) -> None:
    """Move *control* there and back; a menu moves up and down."""
    control.focus()
    there, back = ("ArrowDown", "ArrowUp")
    if control.get_attribute("type") == "range":
        there, back = ("ArrowRight", "ArrowLeft")
        if control.evaluate("control => control.value === control.max"):
            there, back = back, there
    for press in range(times):
        page.keyboard.press(back if press % 2 else there)
        page.wait_for_timeout(450)


def _smooth(page: Page, name: str) -> Iterator[Figure]:
    button = page.locator("[data-play]")
    if button.count():
        button.first.click()
        yield Figure(f"{name}: animation", page.evaluate(_FRAMES), "fps", 55, "higher")

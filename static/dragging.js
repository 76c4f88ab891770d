// Points of a figure that stand for a control: dragged, or moved with the keys, they move the control.

// Where a grip is on the screen, and which value of its control a place on the screen is.
function measured(grip) {
  const svg = grip.ownerSVGElement;
  const [start, end] = grip.dataset.pixels.split(" ").map(Number);
  const [low, high] = grip.dataset.values.split(" ").map(Number);
  const { log, per } = grip.dataset;
  return (clientX) => {
    const { x } = new DOMPoint(clientX, 0).matrixTransform(svg.getScreenCTM().inverse());
    const share = Math.min(Math.max((x - start) / (end - start), 0), 1);
    return per * (log ? low * (high / low) ** share : low + share * (high - low));
  };
}

// A handle lies over each grip that is shown; `of` gives the slider of a control, `held` names the
// one that had the focus.
export function place(of, held) {
  document.querySelectorAll(".over").forEach((over) => over.remove());
  for (const grip of document.querySelectorAll("svg.figure .draggable")) {
    const svg = grip.ownerSVGElement;
    const slide = of(grip.dataset.control);
    if (!svg.getClientRects().length || !slide) continue;
    const dot = grip.querySelector("circle");
    const handle = document.createElement("div");
    handle.className = "handle";
    handle.tabIndex = 0;
    handle.dataset.handle = grip.dataset.control;
    handle.style.left = `${(100 * dot.getAttribute("cx")) / svg.viewBox.baseVal.width}%`;
    handle.style.top = `${(100 * dot.getAttribute("cy")) / svg.viewBox.baseVal.height}%`;
    handle.setAttribute("role", "slider");
    handle.setAttribute("aria-label", slide.getAttribute("aria-label").replace("slider", "on the figure"));
    for (const [name, value] of [
      ["valuemin", slide.min],
      ["valuemax", slide.max],
      ["valuenow", slide.value],
      ["valuetext", slide.getAttribute("aria-valuetext")],
    ])
      handle.setAttribute(`aria-${name}`, value);
    const frame = document.createElement("div");
    frame.className = `over ${svg.classList.contains("narrow") ? "narrow" : "wide"}`;
    svg.parentNode.append(frame);
    frame.append(handle);
    svg.closest("[data-figure]").querySelector(".readout").dataset.hint =
      "Drag the blue point, or move it with the arrow keys.";
    if (held === handle.dataset.handle) handle.focus({ preventScroll: true });
  }
}

const KEYS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };

// `move` sets a control to a value in base units; the page follows.
export function follow(outcome, of, move) {
  let dragged = null;
  outcome.addEventListener("pointerdown", (event) => {
    const handle = event.target.closest?.(".handle");
    if (!handle) return;
    event.preventDefault();
    handle.focus({ preventScroll: true });
    dragged = handle.dataset.handle;
    outcome.setPointerCapture(event.pointerId); // the handle is replaced while it is dragged
  });
  outcome.addEventListener("pointermove", (event) => {
    if (!dragged) return;
    const grips = [...outcome.querySelectorAll(`.draggable[data-control="${dragged}"]`)];
    const grip = grips.find((one) => one.ownerSVGElement.getClientRects().length);
    if (grip) move(of(dragged), measured(grip)(event.clientX));
  });
  for (const end of ["pointerup", "pointercancel"])
    outcome.addEventListener(end, () => (dragged = null));
  outcome.addEventListener("keydown", (event) => {
    const handle = event.target.closest?.(".handle");
    if (!handle) return;
    const slide = of(handle.dataset.handle);
    const before = slide.value;
    if (event.key === "Home") slide.value = slide.min;
    else if (event.key === "End") slide.value = slide.max;
    else if (KEYS[event.key]) slide.value = Number(slide.value) + KEYS[event.key] * (Number(slide.step) || 1);
    else return;
    event.preventDefault();
    if (slide.value !== before) slide.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

// Points of a figure that stand for a control: dragged, or moved with the keys, they move the control.

import { say } from "./say.js";

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

// What lies over a figure, at places in parts of its size.
function over(svg, part, x, y) {
  let frame = svg.parentNode.querySelector(".over");
  if (!frame) {
    frame = document.createElement("div");
    frame.className = `over ${svg.classList.contains("narrow") ? "narrow" : "wide"}`;
    svg.parentNode.append(frame);
  }
  const { width, height } = svg.viewBox.baseVal;
  part.style.left = `${(100 * x) / width}%`;
  part.style.top = `${(100 * y) / height}%`;
  frame.append(part);
}

function hint(svg, says) {
  svg.closest("[data-figure]").querySelector(".readout").dataset.hint = says;
}

function named(part, attributes) {
  for (const [name, value] of Object.entries(attributes)) part.setAttribute(`aria-${name}`, value);
}

function handleOf(grip, slide) {
  const handle = document.createElement("div");
  handle.className = "handle";
  handle.tabIndex = 0;
  handle.dataset.handle = grip.dataset.control;
  handle.setAttribute("role", "slider");
  named(handle, {
    label: slide.getAttribute("aria-label").replace(say("slider"), say("on the figure")),
    valuemin: slide.min,
    valuemax: slide.max,
    valuenow: slide.value,
    valuetext: slide.getAttribute("aria-valuetext"),
  });
  return handle;
}

// A part of a figure that sets a control: a button over it, of its size.
function buttonOf(part, number) {
  const box = part.querySelector("rect");
  const { width, height } = box.ownerSVGElement.viewBox.baseVal;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tap";
  button.tabIndex = number ? -1 : 0; // the arrow keys reach the others
  button.dataset.handle = `tap ${box.getAttribute("x")} ${box.getAttribute("y")}`;
  button.style.width = `${(100 * box.getAttribute("width")) / width}%`;
  button.style.height = `${(100 * box.getAttribute("height")) / height}%`;
  Object.assign(button.dataset, { control: part.dataset.control, value: part.dataset.sets });
  named(button, { label: part.querySelector("title").textContent });
  return button;
}

const shown = (selector) =>
  [...document.querySelectorAll(selector)].filter((part) => part.ownerSVGElement.getClientRects().length);

// A handle lies over each grip that is shown, a button over each part that sets a control. `of` gives
// the slider of a control, `held` names what had the focus.
export function place(of, held) {
  document.querySelectorAll(".over").forEach((frame) => frame.remove());
  for (const grip of shown("svg.figure .draggable")) {
    const slide = of(grip.dataset.control);
    if (!slide) continue;
    const dot = grip.querySelector("circle");
    over(grip.ownerSVGElement, handleOf(grip, slide), dot.getAttribute("cx"), dot.getAttribute("cy"));
    hint(grip.ownerSVGElement, say("Drag the blue point, or move it with the arrow keys."));
  }
  shown("svg.figure [data-sets]").forEach((part, number) => {
    const box = part.querySelector("rect");
    over(part.ownerSVGElement, buttonOf(part, number), box.getAttribute("x"), box.getAttribute("y"));
    hint(part.ownerSVGElement, say("Click a bit to flip it."));
  });
  if (held) document.querySelector(`[data-handle="${held}"]`)?.focus({ preventScroll: true });
}

const KEYS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };

// `move` sets a control to a value in base units, `set` to a text; the page follows.
export function follow(outcome, of, move, set) {
  let dragged = null;
  outcome.addEventListener("click", (event) => {
    const tap = event.target.closest?.(".tap");
    if (tap) set(tap.dataset.control, tap.dataset.value);
  });
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
    if (event.target.matches?.(".tap") && KEYS[event.key]) {
      event.preventDefault();
      const beside = KEYS[event.key] > 0 ? "nextElementSibling" : "previousElementSibling";
      event.target[beside]?.focus();
      return;
    }
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

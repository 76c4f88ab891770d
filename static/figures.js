// The values of a figure: under the pointer, or one by one with the arrow keys. Their texts come
// from the server.
import { say } from "./say.js";

const known = new WeakMap();
const NEAR = 24; // pixels; a value farther from the pointer is not meant

// A figure is there once for each width; this is the one that is shown.
const drawing = (within) =>
  [...within.querySelectorAll("svg.figure")].find((svg) => svg.getClientRects().length);

function boxed(track, row) {
  const { spans, names, says, y } = track.dataset;
  const named = names.split(" ");
  const said = says.split("|");
  return spans.split(",").map((span, index) => {
    const [x, width] = span.split(" ").map(Number);
    return {
      x,
      y: Number(y),
      width,
      height: row,
      says: said[index],
      key: named[index].replace(/[a-z]+$/, ""),
    };
  });
}

function dotted(curve) {
  const said = curve.dataset.says.split("|");
  return curve.dataset.points.split(",").map((point, index) => {
    const [x, y] = point.split(" ").map(Number);
    return { x, y, says: said[index] };
  });
}

function titled(node) {
  const { x, y, width, height } = node.getBBox();
  return { x, y, width, height, says: node.querySelector("title").textContent, node };
}

function valuesOf(svg) {
  if (known.has(svg)) return known.get(svg);
  const row = Number(svg.querySelector(".idle")?.getAttribute("height") ?? 0);
  const nodes = [...svg.querySelectorAll(".track,.points[data-points],g:has(>title)")];
  const values = nodes.flatMap((node) =>
    node.matches(".track")
      ? boxed(node, row)
      : node.matches(".points")
        ? dotted(node)
        : [titled(node)],
  );
  known.set(svg, values);
  return values;
}

function outline({ x, y, width, height }) {
  return width === undefined
    ? `M${x - 6} ${y}a6 6 0 1 0 12 0a6 6 0 1 0 -12 0z`
    : `M${x} ${y}h${width}v${height}h-${width}z`;
}

function over(svg, name, path) {
  let drawn = svg.querySelector(`:scope>.${name}`);
  if (!drawn) {
    drawn = document.createElementNS(svg.namespaceURI, "path");
    drawn.setAttribute("class", name);
    drawn.setAttribute("pointer-events", "none");
    svg.append(drawn);
  }
  drawn.setAttribute("d", path);
}

function show(canvas, value) {
  const svg = drawing(canvas);
  svg.querySelector(".at")?.classList.remove("at");
  value?.node?.classList.add("at");
  const alike = value?.key ? valuesOf(svg).filter(({ key }) => key === value.key) : [];
  over(svg, "traced", alike.map(outline).join(""));
  over(svg, "here", value && !value.node ? outline(value) : "");
  canvas.closest("[data-figure]").querySelector(".readout").textContent = value?.says ?? "";
  canvas.dataset.at = value ? valuesOf(svg).indexOf(value) : -1;
}

function under(svg, event) {
  const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(
    svg.getScreenCTM().inverse(),
  );
  let nearest;
  let least = NEAR;
  for (const value of valuesOf(svg)) {
    const far =
      value.width === undefined
        ? Math.hypot(value.x - x, value.y - y)
        : Math.max(
            value.x - x,
            x - value.x - value.width,
            value.y - y,
            y - value.y - value.height,
            0,
          ) * NEAR;
    if (far < least) [nearest, least] = [value, far];
  }
  return nearest;
}

let moved = null;
document.addEventListener("pointermove", (event) => {
  const canvas = event.target.closest?.("[data-figure] .canvas:not([data-covered])");
  if (!canvas) return;
  if (!moved)
    requestAnimationFrame(() => {
      if (moved.canvas.isConnected)
        show(moved.canvas, under(drawing(moved.canvas), moved.event));
      moved = null;
    });
  moved = { canvas, event };
});
document.addEventListener("keydown", (event) => {
  const canvas = event.target;
  const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!way || !canvas.matches?.(".canvas")) return;
  event.preventDefault();
  const values = valuesOf(drawing(canvas));
  const here = Number(canvas.dataset.at ?? -1);
  show(
    canvas,
    values[(here + way + values.length + (here < 0 && way < 0 ? 1 : 0)) % values.length],
  );
});

async function copy(button, link) {
  try {
    await navigator.clipboard.writeText(link);
    button.textContent = say("Copied");
    button.removeAttribute("aria-label");
  } catch {
    history.replaceState(null, "", link);
    button.textContent = say("The link is in the address bar");
  }
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-copy]");
  if (button) copy(button, new URL(button.dataset.copy, location.href).href);
});

// Where there is room beside the figures, the settings are always open.
const settings = document.querySelector(".settings > details");
if (settings) {
  const roomy = matchMedia("(width >= 62.5rem)");
  const fold = () => (settings.open = roomy.matches);
  roomy.addEventListener("change", fold);
  fold();
}

// Motion that explains: the blocks of a schedule move to their new places.
// It shows what changed, for less than a second, and nothing is lost without it.
const still = matchMedia("(prefers-reduced-motion: reduce)");
const CALM = 350; // milliseconds since the last change: while a slider moves, figures follow it at once
const MOST = 200; // blocks; a slow machine could not keep up with more
const LONG = 450; // milliseconds that blocks move
// A backward pass that is split comes from the halves of the whole one, which comes from the first half.
const ALIKE = { I: "B", W: "B", B: "I" };
const HALF = { I: 0, W: 0.5 };
const SLOW = 90; // milliseconds for two frames: on such a machine, nothing moves from then on
let last = -CALM;
let slow = false;
let running = [];

const shown = (root) =>
  [...root.querySelectorAll("svg.figure")].filter((svg) => svg.getClientRects().length);
const amount = (node, name) => Number(node.getAttribute(name));

function blocksOf(svg) {
  return [...svg.querySelectorAll(".track")].flatMap(({ dataset }, row) => {
    const names = dataset.names.split(" ");
    return dataset.spans.split(",").map((span, at) => {
      const [x, width] = span.split(" ").map(Number);
      return { row, kind: dataset.kinds[at], name: names[at], x, width, y: Number(dataset.y) };
    });
  });
}

// The places of blocks by what they are; without the letter of the chunk, the first of a micro-batch.
function placesOf(blocks) {
  const places = new Map();
  for (const block of blocks) {
    places.set(`${block.row} ${block.kind} ${block.name}`, block);
    const whole = `${block.row} ${block.kind} ${parseInt(block.name)}`;
    if (!places.has(whole)) places.set(whole, block);
  }
  return places;
}

function comesFrom(places, { row, kind, name }) {
  const keys = [kind, ALIKE[kind]].flatMap((one) => [
    `${row} ${one} ${name}`,
    `${row} ${one} ${parseInt(name)}`,
  ]);
  const old = places.get(keys.find((key) => places.has(key)));
  if (old?.kind !== "B" || kind === "B") return old;
  return { ...old, x: old.x + HALF[kind] * old.width, width: old.width / 2 };
}

function layer(svg) {
  const drawn = document.createElementNS(svg.namespaceURI, "g");
  drawn.setAttribute("class", "moving");
  drawn.setAttribute("pointer-events", "none");
  svg.append(drawn);
  return drawn;
}

function box(group, kind, x, y, width, height) {
  const rect = document.createElementNS(group.namespaceURI, "rect");
  const values = { class: kind, x, y, width, height };
  for (const [name, value] of Object.entries(values)) rect.setAttribute(name, value);
  group.append(rect);
  return rect;
}

function animate(node, frames, options) {
  running.push(node.animate(frames, options));
}

function morph(svg, before) {
  const blocks = blocksOf(svg);
  const tracks = svg.querySelector(".tracks");
  if (!before?.length || !blocks.length || blocks.length > MOST) return [];
  const places = placesOf(before);
  const height = amount(svg.querySelector(".idle"), "height");
  const group = layer(svg);
  for (const block of blocks) {
    const { kind, x, y, width } = block;
    const rect = box(group, `p-${kind}`, x, y, width, height);
    const old = comesFrom(places, block);
    const scale = old ? old.width / (width || 1) : 1;
    const start = old
      ? { transform: `matrix(${scale},0,0,1,${old.x - scale * x},${old.y - y})` }
      : { opacity: 0 };
    const end = old ? { transform: "matrix(1,0,0,1,0,0)" } : { opacity: 1 };
    animate(rect, [start, end], { duration: LONG, easing: "ease-in-out", fill: "both" });
  }
  animate(tracks, [{ opacity: 0 }, { opacity: 0 }], LONG);
  return [group];
}

// A key or a click ends it at once.
function finish() {
  running.forEach((one) => one.finish());
  running = [];
}
for (const event of ["keydown", "pointerdown"]) addEventListener(event, finish, true);

// What is shown now, to move from; null while changes come fast, or where motion is not wanted.
export function remember(root) {
  finish();
  const calm = performance.now() - last > CALM;
  last = performance.now();
  return calm && !slow && !still.matches ? shown(root).map(blocksOf) : null;
}

// From what was remembered, or from nothing, to what *root* shows.
export function move(before, root) {
  if (!before) return;
  const extra = shown(root).flatMap((svg, at) =>
    morph(svg, before[at]),
  );
  if (!extra.length) return;
  Promise.allSettled(running.map((one) => one.finished)).then(() =>
    extra.forEach((drawn) => drawn.remove()),
  );
  const begun = performance.now();
  requestAnimationFrame(() =>
    requestAnimationFrame(() => (slow = performance.now() - begun > SLOW)),
  );
}

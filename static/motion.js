// Motion that explains: the blocks of a schedule move to their new places, for less than a second.
const still = matchMedia("(prefers-reduced-motion: reduce)");
const CALM = 350; // milliseconds since the last change: while a slider moves, figures follow it at once
const MOST = 200; // blocks; a slow machine could not keep up with more
const LONG = 450; // milliseconds that blocks move
// A backward pass that is split comes from the halves of the whole one, which comes from the first half.
const ALIKE = { I: "B", W: "B", B: "I" };
const HALF = { I: 0, W: 0.5 };
let last = -CALM;
let running = [];

const shown = (root) => [...root.querySelectorAll("svg.figure")].filter((svg) => svg.getClientRects().length);

function blocksOf(svg) {
  return [...svg.querySelectorAll(".track")].flatMap(({ dataset }, row) => {
    const names = dataset.names.split(" ");
    return dataset.spans.split(",").map((span, at) => {
      const [x, width] = span.split(" ").map(Number);
      return { row, kind: dataset.kinds[at], name: names[at], x, width, y: Number(dataset.y) };
    });
  });
}

// By what they are; without the letter of the chunk, the first of a micro-batch.
const keys = ({ row, kind, name }) => [name, parseInt(name)].map((one) => `${row} ${kind} ${one}`);

function comesFrom(places, block) {
  const found = [...keys(block), ...keys({ ...block, kind: ALIKE[block.kind] })].find((key) => places.has(key));
  const old = places.get(found);
  if (old?.kind !== "B" || block.kind === "B") return old;
  return { ...old, x: old.x + HALF[block.kind] * old.width, width: old.width / 2 };
}

function make(parent, name, attributes) {
  const made = document.createElementNS(parent.namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent.append(made);
  return made;
}

function morph(svg, before) {
  const blocks = blocksOf(svg);
  if (!before?.length || !blocks.length || blocks.length > MOST) return [];
  const places = new Map(before.toReversed().flatMap((block) => keys(block).map((key) => [key, block])));
  const height = svg.querySelector(".idle").getAttribute("height");
  const group = make(svg, "g", { class: "moving", "pointer-events": "none" });
  for (const block of blocks) {
    const { kind, x, y, width } = block;
    const old = comesFrom(places, block);
    const scale = old ? old.width / (width || 1) : 1;
    const [start, end] = old
      ? [{ transform: `matrix(${scale},0,0,1,${old.x - scale * x},${old.y - y})` }, { transform: "none" }]
      : [{ opacity: 0 }, { opacity: 1 }];
    const rect = make(group, "rect", { class: `p-${kind}`, x, y, width, height });
    running.push(rect.animate([start, end], { duration: LONG, easing: "ease-in-out", fill: "both" }));
  }
  running.push(svg.querySelector(".tracks").animate([{ opacity: 0 }, { opacity: 0 }], LONG));
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
  return calm && !still.matches ? shown(root).map(blocksOf) : null;
}

// From what was remembered to what *root* shows.
export function move(before, root) {
  if (!before) return;
  const extra = shown(root).flatMap((svg, at) => morph(svg, before[at]));
  Promise.allSettled(running.map((one) => one.finished)).then(() => extra.forEach((drawn) => drawn.remove()));
}

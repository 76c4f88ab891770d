// The player of figures that move: their frames are data of the page.
import { say } from "./say.js";

const still = matchMedia("(prefers-reduced-motion: reduce)");
const BEAT = 900; // milliseconds that a frame stands
const FLIGHT = 420; // milliseconds that a piece moves, as in the style sheet
const MOMENTS = 90; // frames that a timeline has at most
const known = new WeakMap();
let running = null;

const owner = (node) => node?.closest?.("[data-frames], [data-timeline]");
const numbers = (text, by) => text.split(by).map((one) => one.split(" ").map(Number));

// The paths of a box by their colors: the bits of a number are the ranks whose stripes it has.
function* painted(paint, [x, y, width, height], ranks) {
  const path = (top, high) => `M${x} ${top}h${width}v${high}h-${width}z`;
  if (isNaN(paint)) return yield [paint, path(y, height)];
  const each = height / ranks;
  for (let rank = 0; rank < ranks; rank += 1)
    if ((paint >> rank) & 1) yield [`r${rank}`, path(y + height - (rank + 1) * each, each)];
}

function paint(group, boxes, ranks) {
  const layers = new Map();
  for (const [color, box] of boxes)
    if (color)
      for (const [name, path] of painted(color, box, ranks)) layers.set(name, (layers.get(name) ?? "") + path);
  group.querySelectorAll("path").forEach((path) => path.remove());
  for (const [name, d] of layers) {
    const path = document.createElementNS(group.namespaceURI, "path");
    path.setAttribute("class", `k-${name}`);
    path.setAttribute("d", d);
    group.prepend(path);
  }
}

function stage(svg) {
  const ranks = Number(svg.dataset.ranks);
  const { cells: own, places: others } = svg.dataset;
  const [cells, places] = [own, others || own].map((text) => (text ? numbers(text, ",") : []));
  const groups = [...svg.querySelectorAll(".piece")];
  return {
    move({ pieces }) {
      groups.forEach((group, at) => {
        const place = places[pieces[at][0]];
        group.style.opacity = place ? 1 : 0;
        if (place) group.style.transform = `translate(${place[0]}px,${place[1]}px)`;
      });
    },
    color(frame) {
      paint(svg.querySelector(".cells"), frame.cells.map((one, at) => [one, cells[at]]), ranks);
      groups.forEach((group, at) => {
        const [name, color, label] = frame.pieces[at];
        const [, , width, height] = places[name] ?? [0, 0, 0, 0];
        paint(group, [[color, [0, 0, width, height]]], ranks);
        const edge = group.querySelector(".edge");
        edge.setAttribute("width", width);
        edge.setAttribute("height", height);
        group.querySelector("text")?.replaceChildren(label);
      });
    },
  };
}

function framesOf(text) {
  const [cells, pieces] = [[], []];
  return text.split("|").map((frame) => {
    for (const change of frame ? frame.split(",") : []) {
      const [number, place, color, ...label] = change.split(" ");
      if (color === undefined) cells[number] = place;
      else pieces[number] = [place, color, label.join(" ")];
    }
    return { cells: [...cells], pieces: [...pieces] };
  });
}

function pieces(figure) {
  const frames = framesOf(figure.dataset.frames);
  const says = figure.dataset.says.split("|");
  const stages = [...figure.querySelectorAll("svg[data-places]")].map(stage);
  let late = 0;
  return {
    last: frames.length - 1,
    beat: BEAT,
    says: (frame) => says[frame],
    // What a piece brings is added when it has arrived.
    show(frame, steps) {
      clearTimeout(late);
      const color = () => stages.forEach((one) => one.color(frames[frame]));
      stages.forEach((one) => one.move(frames[frame]));
      if (steps && !still.matches) late = setTimeout(color, FLIGHT);
      else color();
    },
  };
}

// Timelines that stand together have one clock.
function timelines(figure) {
  const found = [...(figure.closest("#explored, .embedded") ?? figure).querySelectorAll("svg.schedule")];
  const all = found.map((svg) => {
    const bars = [...svg.querySelectorAll(".track")].flatMap(({ dataset }) => numbers(dataset.spans, ","));
    const left = Math.min(...bars.map(([x]) => x));
    return { svg, wide: svg.classList.contains("wide"), ends: bars.map(([x, wide]) => x + wide - left) };
  });
  const own = (paper) => all.filter(({ wide }) => wide === paper).flatMap(({ ends }) => ends);
  const first = own(true).length ? own(true) : own(false);
  const ends = [...new Set(first.map((end) => Math.round(end)))].sort((one, other) => one - other);
  const stride = Math.ceil(ends.length / MOMENTS);
  const shares = [0, ...ends.filter((_, at) => (ends.length - 1 - at) % stride === 0).map((end) => end / ends.at(-1))];
  return {
    last: shares.length - 1,
    beat: Math.max(60, 7000 / shares.length),
    says: () => "",
    show(frame) {
      for (const { svg, wide, ends: until } of all) {
        const share = (shares[frame] * Math.max(...own(wide))) / Math.max(...until);
        svg.querySelector(".tracks").style.clipPath = share < 1 ? `inset(0 ${100 * (1 - share)}% 0 0)` : "";
      }
    },
  };
}

function playerOf(figure) {
  if (!known.has(figure)) {
    const slide = figure.querySelector(".scrub");
    const player = ("frames" in figure.dataset ? pieces : timelines)(figure);
    slide.max = player.last;
    if ("timeline" in figure.dataset) slide.value = player.last;
    known.set(figure, { ...player, figure, slide, at: Number(slide.value) });
  }
  return known.get(figure);
}

function go(player, frame, steps = false) {
  player.at = Math.min(Math.max(frame, 0), player.last);
  player.slide.value = player.at;
  player.slide.setAttribute("aria-valuetext", player.says(player.at) || `${player.at}/${player.last}`);
  player.show(player.at, steps);
  player.figure.querySelector(".frame-says")?.replaceChildren(player.says(player.at));
}

function stop() {
  if (!running) return;
  clearTimeout(running.timer);
  const button = running.player.figure.querySelector("[data-play]");
  button.textContent = "▶";
  button.setAttribute("aria-label", say("Play"));
  running = null;
}

function play(figure, until = Infinity) {
  stop();
  const player = playerOf(figure);
  const end = Math.min(until, player.last);
  if (player.at >= end) go(player, 0);
  const button = figure.querySelector("[data-play]");
  button.textContent = "❚❚";
  button.setAttribute("aria-label", say("Pause"));
  const step = () => {
    if (!figure.isConnected) return stop();
    go(player, player.at + 1, true);
    if (player.at >= end) stop();
    else running.timer = setTimeout(step, player.beat / Number(figure.querySelector(".speed").value));
  };
  running = { player, timer: setTimeout(step, player.beat / 3) };
}

function playTo(figure, frame, from) {
  const player = playerOf(figure);
  go(player, still.matches ? frame : (from ?? player.at));
  if (player.at < frame) play(figure, frame);
  else go(player, frame, true);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-play], [data-step]");
  const figure = owner(button);
  if (!figure) return;
  const player = playerOf(figure);
  const plays = running?.player === player;
  stop();
  if (button.dataset.step) go(player, player.at + Number(button.dataset.step), true);
  else if (!plays) play(figure);
});
// Before a slider moves, it knows how many frames there are.
for (const event of ["focusin", "pointerdown"])
  document.addEventListener(event, ({ target }) => target.matches?.(".scrub") && playerOf(owner(target)), true);
document.addEventListener("input", (event) => {
  if (!event.target.matches(".scrub")) return;
  stop();
  go(playerOf(owner(event.target)), Number(event.target.value));
});

// The figure beside a text shows what the paragraph in view speaks of.
const beside = owner(document.querySelector(".side .scrub"));
if (beside) {
  const seen = new IntersectionObserver(
    (entries) => {
      const entered = entries.filter((one) => one.isIntersecting).at(-1);
      if (entered) playTo(beside, Number(entered.target.dataset.frame));
    },
    { rootMargin: "-30% 0px -45%" },
  );
  document.querySelectorAll("[data-frame]").forEach((part) => seen.observe(part));
}

// The figure of an exercise plays the number that was typed, and stops there.
document.addEventListener("reached", ({ target, detail: [frame, beat] }) => {
  playerOf(target).beat = beat;
  playTo(target, frame, 0);
});

const opened = document.querySelector("[data-runs]");
if (opened && !still.matches) play(opened);

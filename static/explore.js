// An explorer: the server computes the state that the controls describe; the page shows it in place.
import { follow, place } from "./dragging.js";
import { move as moveFrom, remember } from "./motion.js";
import { readNumber, spelled } from "./numerals.js";
import { say } from "./say.js";

export const form = document.querySelector("[data-explore]");
const live = document.querySelector("[data-live]");
const offline = document.querySelector("[data-offline]");
const reset = document.querySelector("[data-reset]");
export const slideOf = (name) => form.querySelector(`[data-for="${name}"]`);
let asked = 0;
let waiting = 0;
let quiet = 0;

export const explored = () => document.querySelector("#explored");
const guess = () => document.querySelector("#asked [name=guess]");

// A hidden answer stays hidden while the controls move: the question changes with them.
function address() {
  const query = new URLSearchParams(new FormData(form));
  if (explored().dataset.hidden) query.set("predict", "1");
  return `${form.getAttribute("action")}?${query}`;
}

function replaceExplored(fresh, old) {
  const open = [...old.querySelectorAll("details")].map((details) => details.open);
  const before = remember(old);
  old.replaceWith(fresh);
  fresh
    .querySelectorAll("details")
    .forEach((details, index) => (details.open = open[index] ?? false));
  moveFrom(before, fresh);
}

function replaceAsked(fresh) {
  if (!fresh) return;
  const typed = guess()?.value;
  document.querySelector("#asked").replaceWith(fresh);
  if (typed && guess() && !guess().value) guess().value = typed;
}

// While a control moves, the figures follow at once; what is heard, and the address, when it rests.
function settle(here) {
  clearTimeout(quiet);
  quiet = setTimeout(() => {
    const said = explored().querySelectorAll("#guessed, .answer-first, .said, .feedback.failure");
    live.textContent = [...said].map((part) => part.textContent.trim()).join(" ");
    history.replaceState(null, "", here.replace("&told=1", ""));
    document.title = explored().dataset.title;
  }, 250);
}

// The width that the style sheet draws figures for: an update brings only that one.
const paper = () => (explored().clientWidth < 640 ? "narrow" : "wide");
let drawnFor = paper();
let shown = 0;
addEventListener("resize", () => {
  if (paper() !== drawnFor) soon(100);
});

async function show(here = address()) {
  const number = ++asked;
  drawnFor = paper();
  try {
    const answer = await fetch(here, { headers: { "X-Fragment": "1", "X-Paper": drawnFor } });
    const text = await answer.text();
    if (!answer.ok || number < shown) return;
    shown = number;
    const page = new DOMParser().parseFromString(text, "text/html");
    const held = document.activeElement?.dataset.handle;
    replaceAsked(page.querySelector("#asked"));
    for (const part of ["#explored", "#more"]) {
      const old = document.querySelector(part);
      if (old) replaceExplored(page.querySelector(part), old);
    }
    document.dispatchEvent(new Event("explored"));
    place(slideOf, held);
    if (reset) reset.href = form.getAttribute("action") + (explored().dataset.hidden ? "" : "?show=1");
    settle(here);
    offline.hidden = true;
  } catch {
    offline.hidden = false;
    live.textContent = offline.textContent;
  }
}

// One request at a time, the next one for where the control is by then.
let running = false;
let again = false;
async function keepUp() {
  again = running;
  if (running) return;
  running = true;
  await show();
  running = false;
  if (again) keepUp();
}

// Hiding or showing the answer removes the focused element; its replacement gets the focus.
async function turn(here) {
  clearTimeout(waiting);
  await show(here);
  if (document.activeElement === document.body) (guess() ?? explored()).focus();
}

document.addEventListener("submit", (event) => {
  if (!event.target.closest("#asked")) return;
  event.preventDefault();
  turn(`${form.getAttribute("action")}?${new URLSearchParams(new FormData(event.target))}`);
});
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("[data-turn]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  turn(link.href);
});

function soon(wait) {
  clearTimeout(waiting);
  waiting = setTimeout(show, wait);
}

// A slider moves in even steps, by factors, or by powers of two.
function written(slide) {
  const { scaling, low, high } = slide.dataset;
  if (!scaling) return spelled(slide.value);
  if (scaling === "doubles") return spelled(2 ** Number(slide.value));
  const share = Number(slide.value) / Number(slide.max);
  const value = Number(low) * (Number(high) / Number(low)) ** share;
  return spelled(value < 10 && Number(low) < 1 ? Number(value.toPrecision(2)) : Math.round(value));
}

export function placed(slide, text) {
  const { scaling, low, high } = slide.dataset;
  const value = readNumber(text);
  if (Number.isNaN(value)) return;
  if (!scaling) slide.value = value;
  else if (value > 0)
    slide.value =
      scaling === "doubles"
        ? Math.log2(value)
        : (Number(slide.max) * Math.log(value / Number(low))) /
          Math.log(Number(high) / Number(low));
}

// A screen reader announces the value of a slider, not its position.
function said(slide) {
  const box = form.elements[slide.dataset.for];
  const unit = box.parentNode.querySelector(".unit")?.textContent ?? "";
  slide.setAttribute("aria-valuetext", `${box.value} ${unit}`.trim());
}

form.addEventListener("input", (event) => {
  const target = event.target;
  if (target.matches("[data-for]")) {
    form.elements[target.dataset.for].value = written(target);
    said(target);
    keepUp();
    return;
  }
  const slide = slideOf(target.name);
  if (slide) {
    placed(slide, target.value);
    said(slide);
  }
  soon(target.matches("select") ? 0 : 300);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  show();
});
form.querySelector("[data-share]").addEventListener("click", async (event) => {
  const link = new URL(address(), location.href);
  link.searchParams.delete("was");
  try {
    await navigator.clipboard.writeText(link.href);
    event.target.textContent = say("Copied");
  } catch {
    history.replaceState(null, "", link);
    event.target.textContent = say("The link is in the address bar");
  }
});

// A point of a figure moves its control: to whole numbers and powers of two where it has only those.
function move(slide, value) {
  const { factor, scaling, low, high } = slide.dataset;
  const number = value / Number(factor);
  const box = form.elements[slide.dataset.for];
  if (scaling === "doubles") slide.value = Math.log2(number);
  else if (!scaling) slide.value = number;
  const near = Math.min(Math.max(number, Number(low)), Number(high));
  const text = scaling === "log" ? spelled(Number(near.toPrecision(3))) : written(slide);
  if (box.value === text) return;
  box.value = text;
  placed(slide, text);
  said(slide);
  keepUp();
}
place(slideOf);
follow(document.querySelector(".outcome") ?? form, slideOf, move, (name, text) => {
  form.elements[name].value = spelled(text);
  placed(slideOf(name), spelled(text));
  said(slideOf(name));
  keepUp();
});
moveFrom(remember(explored()) && [], explored());

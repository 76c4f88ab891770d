// Pages of classes: the time zone of the browser, copying, dates in words, and what is chosen in a list.
import { say } from "./say.js";

const zone = document.querySelector("[data-zone]");
if (zone) {
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if ([...zone.list.options].some((option) => option.value === here)) zone.value = here;
}

for (const button of document.querySelectorAll("[data-prints]"))
  button.addEventListener("click", () => print());

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copies]");
  if (!button) return;
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(button.dataset.copies);
    button.textContent = say("Copied");
  } catch {
    button.textContent = say("Select the text to copy it");
  }
  setTimeout(() => (button.textContent = before), 2000);
});

// A date in words beside its field, as the server reads it in the zone of the class.
for (const field of document.querySelectorAll("[data-words]")) {
  const says = document.getElementById(field.dataset.says);
  let asked = 0;
  const tell = async () => {
    const number = ++asked;
    if (!field.value) return says.replaceChildren();
    const question = new URLSearchParams({ at: field.value, ends: field.dataset.ends });
    try {
      const answer = await fetch(`${field.dataset.words}?${question}`);
      if (answer.ok && number === asked) says.textContent = await answer.text();
    } catch {
      // No connection: the page says it when the form is sent.
    }
  };
  field.addEventListener("input", tell);
  if (field.value !== field.defaultValue) tell(); // Firefox keeps fields through a reload
}

// How many are chosen, and their points.
const chooser = document.querySelector("[data-chooser]");
const sum = document.querySelector("[data-sum]");
function total() {
  const chosen = [...chooser.querySelectorAll("[type=checkbox]:checked")];
  const points = chosen
    .map((box) => Number(box.closest("[data-entry]").querySelector("[type=number]")?.value || 0))
    .reduce((all, one) => all + one, 0);
  const rounded = Math.round(points * 100) / 100;
  const values = { count: chosen.length, points: rounded };
  if (!chooser.querySelector("[type=number]")) sum.textContent = say("{count} chosen", values);
  else if (rounded === 1) sum.textContent = say("{count} chosen, 1 point", values);
  else sum.textContent = say("{count} chosen, {points} points", values);
}
if (chooser && sum) {
  chooser.addEventListener("input", total);
  total();
}

// The order of the chosen exercises follows what is chosen.
const sorted = document.querySelector("[data-order]");
if (chooser && sorted) {
  const { order } = await import("./order.js");
  const box = sorted.closest("fieldset");
  const boxes = () => [...chooser.querySelectorAll("[type=checkbox]")];
  const chosen = () => new Set(boxes().flatMap((one) => (one.checked ? [one.value] : [])));
  for (const item of [...sorted.children]) if (!chosen().has(item.dataset.key)) item.remove();
  const list = order(sorted);
  function follow(one) {
    const item = [...sorted.children].find(({ dataset }) => dataset.key === one.value);
    if (item && !one.checked) list.remove(item);
    if (!item && one.checked) list.add(made(one));
    box.hidden = sorted.children.length < 2;
  }
  function made(one) {
    const item = document.createElement("li");
    const [text, place] = [document.createElement("span"), document.createElement("input")];
    item.dataset.key = one.value;
    text.className = "text";
    text.textContent = one.dataset.title;
    place.className = "place";
    item.append(text, place);
    return item;
  }
  boxes().forEach(follow);
  chooser.addEventListener("change", ({ target }) => target.type === "checkbox" && follow(target));
}

// Work that goes on step by step; the next one begins after some seconds.
const next = document.querySelector("[data-continues]");
if (next) setTimeout(() => next.requestSubmit(), 300 + 1_000 * Number(next.dataset.continues));

// The clock of an exam: minutes until it ends.
function tick() {
  const clock = document.querySelector("[data-ends-at]"); // a verdict replaces it
  const left = Math.ceil((new Date(clock.dataset.endsAt) - Date.now()) / 60_000);
  clock.textContent = left > 0 ? say("{left} min left", { left }) : say("Time is up");
  if (left > 0) setTimeout(tick, 5_000);
}
if (document.querySelector("[data-ends-at]")) tick();

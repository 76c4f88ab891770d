// The form of a new exercise: shows beside it what it makes, and leads from each finding to its field.
import { announceIn, keyOfPage, newPage, redraw } from "./preview-page.js";

const bench = document.querySelector(".workbench");
const form = bench.querySelector("form");
const frame = bench.querySelector("iframe");
const key = keyOfPage();
const page = newPage();
const PAUSE = 500; // ms without a key, after which the form is checked
const find = (name) => bench.querySelector(`[data-${name}]`);
let turn = 0;
let rest = 0; // the timer that waits until one has typed
let touched = false;
let made = false;

const send = (path) =>
  fetch(`new${path}?page=${page}`, {
    method: "POST",
    body: new URLSearchParams(new FormData(form)),
    headers: { "X-Preview-Key": key },
  }).catch(() => null);

function lock() {
  find("locked").hidden = false;
  form.querySelector("button").hidden = true;
}

async function check() {
  const mine = ++turn;
  const reply = await send("/draft");
  if (mine !== turn) return;
  if (reply?.ok) show(new DOMParser().parseFromString(await reply.text(), "text/html").querySelector("[data-address]"));
  else if (reply?.status === 403) lock();
  else announceIn(find("state"), reply ? "The form cannot be checked." : "The command has stopped. Your text is still here.");
}

function show(draft) {
  const isOpen = find("draft").querySelector("details")?.open;
  find("draft").replaceChildren(...draft.childNodes);
  find("draft").querySelector("details").open = isOpen ?? false;
  announceIn(find("count"), find("sum").textContent);
  for (const button of find("draft").querySelectorAll("button[data-field]")) {
    const field = form.elements[button.dataset.field];
    button.textContent = titleOf(field[0]?.closest("fieldset") ? field[0] : field);
  }
  if (find("draft").querySelector("#proof").dataset.shown !== "yes") return;
  const isNew = frame.hidden || !frame.contentWindow.location.pathname.endsWith(draft.dataset.address);
  frame.hidden = false;
  redraw(frame, isNew && `..${draft.dataset.address}`);
}

const titleOf = (field) => field.closest("fieldset")?.querySelector("legend").textContent ?? field.labels[0].textContent;

bench.addEventListener("click", ({ target }) => {
  const field = target.dataset.field && form.elements[target.dataset.field];
  if (field) (field.length && !field.options ? field[0] : field).focus();
});
form.addEventListener("input", () => {
  touched = true;
  clearTimeout(rest);
  if (key) rest = setTimeout(check, PAUSE);
});
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const reply = await send("");
  const says = reply ? await reply.text() : "The command has stopped.";
  made = reply?.status === 201;
  if (made) location.assign(`../preview?name=${says}`);
  else if (reply?.status === 403) lock();
  else announceIn(find("state"), says);
});
addEventListener("beforeunload", (event) => touched && !made && event.preventDefault());
if (!key) lock();
bench.dataset.checked = ""; // for tests

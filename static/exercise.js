// An exercise: the verdict appears in place, and nothing that is typed or chosen is lost.

import { draft } from "./draft.js";
import { say } from "./say.js";

const form = document.querySelector("[data-answer]");
const result = form.querySelector("#result"); // it stays: of a new live region, screen readers announce nothing
const verdict = result.querySelector(".verdict");
const { id, seed } = document.querySelector(".exercise").dataset;
const list = form.querySelector("[data-order]");
const sorted = list && (await import("./order.js")).order(list);
const kept = draft(form, `draft ${id} ${seed}`, sorted);
const patience = form.querySelector("[data-editor]") ? 60 : 20; // seconds for an answer: programs wait for a turn
const moment = 150; // milliseconds until a page says that it waits

// The verdict on each field: its border, what screen readers say, and a word.
function mark(marks) {
  for (const field of form.querySelectorAll(".field [name]")) {
    const [right, box] = [marks[field.name], field.closest(".field")];
    box.classList.toggle("success", right === true);
    box.classList.toggle("failure", right === false);
    box.querySelector(".judged")?.remove();
    if (right === undefined) field.removeAttribute("aria-invalid");
    else field.setAttribute("aria-invalid", String(!right));
    if (right !== undefined) box.append(word(right));
  }
}

function word(right) {
  const says = document.createElement("span");
  says.className = `judged ${right ? "passed" : "failed"}`;
  says.textContent = right ? say("✓ right") : say("✗ wrong");
  return says;
}

// What was pressed first may be answered last: only what was pressed later is shown then.
let pressed = 0;
const shown = { verdict: 0, help: 0 };
function show(html, number, helps) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const fresh = page.querySelector("#result");
  if (!fresh) throw new Error("no verdict in the answer");
  if (number > shown.help) {
    shown.help = number;
    form.querySelector(".help").replaceWith(fresh.querySelector(".help"));
    refresh(page);
  }
  if (helps) verdict.querySelector("[value=hint]")?.parentElement.remove(); // the offer of a hint was taken
  const says = fresh.querySelector(".verdict");
  if (number < shown.verdict || (helps && !says.childElementCount)) return;
  shown.verdict = number;
  verdict.replaceChildren(...says.childNodes);
  result.dataset.state = fresh.dataset.state;
  mark(JSON.parse(fresh.dataset.marks));
  const figure = document.querySelector(".illustration[data-frames]");
  if (figure && fresh.dataset.reached) {
    figure.querySelector(".answered").hidden = false;
    const frame = Number(fresh.dataset.reached);
    const beat = Math.min(900, Math.max(500, 6000 / frame)); // milliseconds: its pieces have the time to move
    figure.dispatchEvent(new CustomEvent("reached", { bubbles: true, detail: [frame, beat] }));
  }
  if (fresh.dataset.state === "correct") kept.finish();
}

function refresh(page) {
  for (const part of ["#path", "#strip"]) document.querySelector(part)?.replaceWith(page.querySelector(part) ?? "");
}

function complain(text, again) {
  const box = document.createElement("div");
  box.className = "feedback notice";
  const [title, says, button] = ["b", "p", "button"].map((name) => document.createElement(name));
  title.textContent = say("Not sent");
  says.textContent = text;
  button.type = "button";
  button.className = "button small";
  button.textContent = say("Send again");
  button.addEventListener("click", again);
  box.append(title, says, button);
  verdict.replaceChildren(box);
}

const why = (error) =>
  error.name === "TimeoutError"
    ? say("There was no reply in {seconds} seconds. Your answer is still here.", { seconds: patience })
    : say("The server cannot be reached or gave no verdict. Your answer is still here. Try again in a moment.");

// While something is on its way, the verdict before it is gray.
const waiting = document.createElement("p");
waiting.className = "quiet waiting";
waiting.setAttribute("role", "status");
result.before(waiting);
function wait(helps) {
  verdict.setAttribute("aria-busy", "true");
  waiting.textContent = helps ? say("One moment …") : say("Checking …");
}

const asks = new Map(); // what is on its way: the number of each text that was sent
async function send(button) {
  const helps = ["hint", "solution"].includes(button.value);
  const fields = new FormData(form);
  fields.set("action", button.value);
  const body = new URLSearchParams(fields);
  if (asks.has(String(body))) return; // it is on its way already
  const number = ++pressed;
  asks.set(String(body), number);
  button.setAttribute("aria-busy", "true");
  const timer = setTimeout(() => wait(helps), moment);
  try {
    const answer = await fetch(form.getAttribute("action"), {
      method: "POST",
      body,
      headers: { "X-Fragment": "1" },
      signal: AbortSignal.timeout(1000 * patience),
    });
    show(await answer.text(), number, helps);
    reveal(button);
    if (!helps) form.dispatchEvent(new CustomEvent("judged"));
  } catch (error) {
    if (number === pressed) complain(why(error), () => send(button)); // else, that is said of the one after it
  } finally {
    clearTimeout(timer);
    settle(String(body), button);
  }
}

function settle(text, button) {
  asks.delete(text);
  if (!asks.size) {
    verdict.removeAttribute("aria-busy");
    waiting.textContent = "";
  }
  button.removeAttribute("aria-busy");
  if (!document.contains(document.activeElement) || document.activeElement === document.body)
    verdict.focus({ preventScroll: true });
}

function reveal(button) {
  const parts = { hint: ".hint", solution: ".solution" }[button.value];
  const place = parts ? [...form.querySelectorAll(parts)].pop() : verdict;
  place?.scrollIntoView({ block: "nearest" });
}

form.addEventListener("submit", (event) => {
  if ("wholePage" in form.dataset && !["hint", "solution"].includes(event.submitter?.value)) return;
  event.preventDefault();
  send(event.submitter ?? form.querySelector("button[value=check]"));
});
form.addEventListener("input", ({ target }) => {
  kept.keep();
  // A verdict on what was there before is none on what is there now.
  const box = target.closest(".field");
  box?.classList.remove("success", "failure");
  box?.querySelector(".judged")?.remove();
  if (box) target.removeAttribute("aria-invalid");
});
// After Back, more may be solved.
document.addEventListener("returned", async () => {
  try {
    const answer = await fetch(location, { headers: { "X-Fragment": "1" } });
    refresh(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    // No connection, or the page is left again: it stays as it was.
  }
});

if (!verdict.childElementCount) kept.restore();
if (form.querySelector("[data-editor]")) {
  const { editor } = await import("./editor.js");
  editor(form, kept.keep);
}

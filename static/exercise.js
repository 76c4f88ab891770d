// An exercise: the verdict appears in place, and drafts survive a reload.

import { say } from "./say.js";

const form = document.querySelector("[data-answer]");
const { id, seed } = document.querySelector(".exercise").dataset;
const store = `draft ${id} ${seed}`;

const typed = () => [
  ...form.querySelectorAll("input[name]:not([type=radio], [type=checkbox]), textarea[name]"),
];

function keepDraft() {
  if (!("draft" in form.dataset)) return;
  try {
    localStorage.setItem(store, JSON.stringify(typed().map((field) => [field.name, field.value])));
  } catch {
    // A private window may refuse to store anything.
  }
}

function restoreDraft() {
  if (!("draft" in form.dataset)) return;
  try {
    const draft = new Map(JSON.parse(localStorage.getItem(store) ?? "[]"));
    for (const field of typed()) if (draft.has(field.name)) field.value = draft.get(field.name);
  } catch {
    localStorage.removeItem(store);
  }
}

function show(html, whole) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const result = page.querySelector("#result");
  if (!result) throw new Error("no verdict in the answer");
  // The live region must stay the same element, or screen readers announce nothing.
  const [verdict, fresh] = [form.querySelector(".verdict"), result.querySelector(".verdict")];
  form.querySelector(".help").replaceWith(result.querySelector(".help"));
  for (const id of ["#path", "#strip"])
    document.querySelector(id)?.replaceWith(page.querySelector(id) ?? "");
  if (whole || fresh.childElementCount) {
    verdict.replaceChildren(...fresh.childNodes);
    form.querySelector("#result").dataset.state = result.dataset.state;
  }
  return verdict;
}

function complain(text) {
  const box = document.createElement("div");
  box.className = "feedback notice";
  const [title, says] = [document.createElement("b"), document.createElement("p")];
  title.textContent = say("Not sent");
  says.textContent = text;
  box.append(title, says);
  form.querySelector(".verdict").replaceChildren(box);
}

let busy = false;

async function send(button) {
  if (busy) return;
  busy = true;
  const fields = new FormData(form);
  fields.set("action", button.value);
  button.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(form.getAttribute("action"), {
      method: "POST",
      body: new URLSearchParams(fields),
      headers: { "X-Fragment": "1" },
    });
    const html = await answer.text();
    const helped = button.value === "hint" || button.value === "solution";
    const verdict = show(html, !helped);
    if (helped) {
      const parts = form.querySelectorAll(button.value === "hint" ? ".hint" : ".solution");
      parts[parts.length - 1]?.scrollIntoView({ block: "nearest" });
    } else {
      verdict.scrollIntoView({ block: "nearest" });
    }
    form.dispatchEvent(new CustomEvent("judged"));
  } catch {
    complain(
      say(
        "The server cannot be reached or gave no verdict. Your answer is still here. Try again in a moment.",
      ),
    );
  } finally {
    busy = false;
    button.removeAttribute("aria-busy");
    if (!document.contains(document.activeElement) || document.activeElement === document.body)
      form.querySelector(".verdict").focus({ preventScroll: true });
  }
}

form.addEventListener("submit", (event) => {
  if ("wholePage" in form.dataset && !["hint", "solution"].includes(event.submitter?.value)) return;
  event.preventDefault();
  send(event.submitter ?? form.querySelector("button[value=check]"));
});
form.addEventListener("input", keepDraft);

if (!form.querySelector(".verdict").childElementCount) restoreDraft();
const list = form.querySelector("[data-order]");
if (list) {
  const { order } = await import("./order.js");
  order(list);
}
if (form.querySelector("[data-editor]")) {
  const { editor } = await import("./editor.js");
  editor(form, keepDraft);
}

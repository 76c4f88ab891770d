// A list to put in order by dragging or with keys. Items that do not belong go below the divider.
// Its data-sorts says what its items are, and data-name what its fields are called.
import { say } from "./say.js";

const chevron = (path) => `
  <svg width="14" height="14" viewBox="0 0 14 14" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true">
    <path d="${path}"/>
  </svg>`;
const dot = (x, y) => `<circle cx="${x}" cy="${y}" r="1.5"/>`;
const dots = [3, 9, 15].map((y) => dot(3, y) + dot(9, y)).join("");
const GRIP = `<svg width="12" height="18" viewBox="0 0 12 18" fill="currentColor" aria-hidden="true">${dots}</svg>`;

const ROOM = 4; // pixels, more than half of the gap between two items

export function order(list) {
  const live = list.parentElement.querySelector("[data-live]");
  const help = document.querySelector("#order-help");
  const strangers = "strangers" in list.dataset;
  const { sorts = "", name: called = "answer" } = list.dataset;
  const how =
    sorts === "exercises"
      ? say("Drag the exercises into order, or move them with the arrows.")
      : say("Drag the statements into order, or move them with the arrows.");
  help.textContent = strangers ? `${how} ${say("Statements that do not belong go below the line.")}` : how;

  const places = [...list.children];
  const answered = places.some((item) => item.querySelector(".place").value);
  for (const item of places) dress(item);
  if (strangers) list.append(divider());
  if (strangers && answered) for (const item of places) if (!item.dataset.place) list.append(item);
  number();

  function dress(item) {
    const place = item.querySelector(".place");
    item.dataset.place = place.value;
    const label = item.querySelector(".text");
    const text = document.createElement("span");
    text.className = "text";
    text.append(...label.childNodes);
    label.replaceWith(text);
    place.remove();
    const name = text.textContent.trim().slice(0, 60);
    item.insertAdjacentHTML(
      "afterbegin",
      `<span class="grip" aria-hidden="true">${GRIP}</span><span class="seat" aria-hidden="true"></span>`,
    );
    const moves = document.createElement("span");
    moves.className = "moves";
    for (const [direction, path, says] of [
      ["up", "m2 9 5-5 5 5", say("Move up: {name}", { name })],
      ["down", "m2 5 5 5 5-5", say("Move down: {name}", { name })],
    ]) {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.move = direction;
      button.innerHTML = chevron(path);
      button.setAttribute("aria-label", says);
      moves.append(button);
    }
    const field = document.createElement("input");
    field.type = "hidden";
    field.name = called;
    field.value = item.dataset.key;
    item.append(moves, field);
  }

  function divider() {
    const item = document.createElement("li");
    item.className = "divider";
    item.textContent = say("Does not belong");
    return item;
  }

  function number() {
    let seat = 0;
    let below = false;
    for (const item of list.children) {
      below ||= item.classList.contains("divider");
      const field = item.querySelector("input");
      if (!field) continue;
      field.disabled = below;
      item.querySelector(".seat").textContent = below ? "–" : ++seat;
      item.querySelector("[data-move=up]").disabled = !item.previousElementSibling;
      item.querySelector("[data-move=down]").disabled = !item.nextElementSibling;
    }
  }

  function move(item, direction) {
    if (direction === "up") item.previousElementSibling?.before(item);
    else item.nextElementSibling?.after(item);
    number();
    changed();
  }

  // For who keeps what is typed: nothing is, but the answer is another one.
  const changed = () => list.dispatchEvent(new Event("input", { bubbles: true }));

  function announce(item) {
    const seat = item.querySelector(".seat").textContent;
    live.textContent =
      seat === "–"
        ? say("Now among the statements that do not belong")
        : say("Now in place {seat}", { seat });
  }

  list.addEventListener("click", (event) => {
    const button = event.target.closest("[data-move]");
    if (!button) return;
    const item = button.closest("li");
    move(item, button.dataset.move);
    (button.disabled ? item.querySelector("[data-move]:not(:disabled)") : button)?.focus();
    announce(item);
  });

  list.addEventListener("keydown", (event) => {
    const item = event.target.closest("li");
    if (!item || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
    event.preventDefault();
    const direction = event.key === "ArrowUp" ? "up" : "down";
    const button = item.querySelector(`[data-move=${direction}]`);
    if (button.disabled) return;
    move(item, direction);
    (button.disabled ? item.querySelector("[data-move]:not(:disabled)") : button)?.focus();
    announce(item);
  });

  list.addEventListener("pointerdown", (event) => {
    const grip = event.target.closest(".grip");
    if (!grip || !event.isPrimary || event.button !== 0) return;
    event.preventDefault();
    drag(grip, event);
  });

  function drag(grip, { pointerId, pageY }) {
    const item = grip.closest("li");
    const before = [...list.children];
    const listening = new AbortController();
    let from = pageY;

    // The neighbors move, never the item: an element that is inserted again loses the pointer.
    function follow({ pageY: now }) {
      const down = now > from;
      const neighbor = () => (down ? item.nextElementSibling : item.previousElementSibling);
      const passed = (next) => (down ? now - from : from - now) > next.offsetHeight / 2 + ROOM;
      for (let next = neighbor(); next && passed(next); next = neighbor()) {
        const top = item.offsetTop;
        if (down) item.before(next);
        else item.after(next);
        from += item.offsetTop - top;
      }
      number();
      item.style.transform = `translateY(${now - from}px)`;
    }

    function end(kept) {
      listening.abort();
      item.classList.remove("drag");
      item.style.transform = "";
      if (!kept) list.append(...before);
      number();
      changed();
      announce(item);
    }

    grip.setPointerCapture(pointerId);
    item.classList.add("drag");
    const { signal } = listening;
    grip.addEventListener("pointermove", follow, { signal });
    grip.addEventListener("pointerup", () => end(true), { signal });
    grip.addEventListener("pointercancel", () => end(false), { signal });
    grip.addEventListener("lostpointercapture", () => end(true), { signal });
    document.addEventListener("keydown", (event) => event.key === "Escape" && end(false), {
      signal,
    });
  }

  return {
    keys: () => [...list.children].map((item) => item.dataset.key ?? ""), // of the divider, none
    arrange(keys) {
      const items = [...list.children];
      const placed = keys.map((key) => items.find((item) => (item.dataset.key ?? "") === key));
      list.append(...new Set(placed.filter(Boolean)));
      number();
    },
    add(item) {
      dress(item);
      list.append(item);
      number();
    },
    remove(item) {
      item.remove();
      number();
    },
  };
}

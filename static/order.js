// A list that is put in order by dragging or with keys. Below the divider lies what does not belong.
const icon = (path) =>
  `<svg width="14" height="14" viewBox="0 0 14 14" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true"><path d="${path}"/></svg>`;
const GRIP =
  '<svg width="12" height="18" viewBox="0 0 12 18" fill="currentColor" aria-hidden="true"><circle cx="3" cy="3" r="1.5"/><circle cx="9" cy="3" r="1.5"/><circle cx="3" cy="9" r="1.5"/><circle cx="9" cy="9" r="1.5"/><circle cx="3" cy="15" r="1.5"/><circle cx="9" cy="15" r="1.5"/></svg>';

export function order(list) {
  const live = list.parentElement.querySelector("[data-live]");
  const help = document.querySelector("#order-help");
  const strangers = "strangers" in list.dataset;
  help.textContent = strangers
    ? "Drag the statements into order, or move them with the arrows; what does not belong goes below the line."
    : "Drag the statements into order, or move them with the arrows.";

  const places = [...list.children];
  const answered = places.some((item) => item.querySelector(".place").value);
  for (const item of places) dress(item);
  if (strangers) list.append(divider());
  if (strangers && answered)
    for (const item of places) if (!item.dataset.place) list.append(item);
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
    moves.className = "mv";
    for (const [direction, path] of [["up", "m2 9 5-5 5 5"], ["down", "m2 5 5 5 5-5"]]) {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.move = direction;
      button.innerHTML = icon(path);
      button.setAttribute("aria-label", `Move ${direction}: ${name}`);
      moves.append(button);
    }
    const field = document.createElement("input");
    field.type = "hidden";
    field.name = "answer";
    field.value = item.dataset.key;
    item.append(moves, field);
  }

  function divider() {
    const item = document.createElement("li");
    item.className = "divider";
    item.textContent = "Does not belong";
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
  }

  function announce(item) {
    const seat = item.querySelector(".seat").textContent;
    live.textContent = seat === "–" ? "Now among what does not belong" : `Now in place ${seat}`;
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
    if (!grip) return;
    event.preventDefault();
    const item = grip.closest("li");
    grip.setPointerCapture(event.pointerId);
    item.classList.add("drag");
    let from = event.clientY;
    const follow = (now) => {
      let way = now.clientY - from;
      for (const [next, sign, direction] of [
        [item.previousElementSibling, -1, "up"],
        [item.nextElementSibling, 1, "down"],
      ]) {
        if (!next || sign * way <= next.offsetHeight / 2 + 3) continue;
        const top = item.offsetTop;
        move(item, direction);
        from += item.offsetTop - top;
        way = now.clientY - from;
      }
      item.style.transform = `translateY(${way}px)`;
    };
    const end = () => {
      item.classList.remove("drag");
      item.style.transform = "";
      grip.removeEventListener("pointermove", follow);
      announce(item);
    };
    grip.addEventListener("pointermove", follow);
    grip.addEventListener("pointerup", end, { once: true });
    grip.addEventListener("pointercancel", end, { once: true });
  });
}

// The search: hits while one types, and the arrow keys move through them.
const wait = 120; // milliseconds after a key

export function seek(box) {
  const form = box.form;
  const panel = form.querySelector("[data-hits]");
  let timer = 0;
  let asked = 0;
  let found = ""; // what the hits are for

  const links = () => [...panel.querySelectorAll("a")];
  const close = () => (panel.hidden = true);

  async function look() {
    const number = ++asked;
    if (!box.value.trim()) return close();
    try {
      const address = `${form.action}?${new URLSearchParams({ q: box.value })}`;
      const answer = await fetch(address, { headers: { "X-Fragment": "1" } });
      const text = await answer.text();
      if (!answer.ok || number !== asked || panel.contains(document.activeElement)) return;
      const page = new DOMParser().parseFromString(text, "text/html");
      panel.replaceChildren(...page.querySelector("#hits").childNodes);
      found = box.value;
      panel.hidden = !form.contains(document.activeElement);
    } catch {
      close(); // no connection: Enter still sends the form, and the browser says so
    }
  }

  function move(step) {
    const all = [box, ...links()];
    const here = all.indexOf(document.activeElement);
    all[(here + step + all.length) % all.length].focus();
  }

  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, wait);
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !panel.hidden) {
      event.preventDefault();
      box.focus();
      close();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !panel.hidden) {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    }
  });
  panel.addEventListener("mousedown", (event) => event.preventDefault()); // Safari: a link takes no focus
  form.addEventListener("focusout", (event) => {
    if (!form.contains(event.relatedTarget)) close();
  });
  box.addEventListener("focus", () => {
    if ((panel.hidden || found !== box.value) && box.value !== box.defaultValue) look();
  });
  if (box.value !== box.defaultValue) look(); // typed before the script was there
}

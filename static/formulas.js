// Formulas and errata: the list narrows and the calculator computes while the learner types.
const filter = document.querySelector("[data-filter]");
filter?.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(/\s+/);
  for (const entry of document.querySelectorAll("[data-entry]")) {
    const text = entry.textContent.toLowerCase().replaceAll("_", " ");
    entry.hidden = !words.every((word) => text.includes(word));
  }
  for (const group of document.querySelectorAll("[data-group]")) {
    group.hidden = !group.querySelector("[data-entry]:not([hidden])");
    group.open = Boolean(filter.value);
  }
});

const calculator = document.querySelector("[data-calculator]");
let waiting = 0;
let asked = 0;

async function work() {
  const question = new URLSearchParams(new FormData(calculator));
  for (const [name, value] of [...question]) if (!value.trim()) question.delete(name);
  const address = `${calculator.getAttribute("action")}?${question}`;
  const number = ++asked;
  try {
    const answer = await fetch(address, { headers: { "X-Fragment": "1" } });
    if (!answer.ok || number !== asked) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    document
      .querySelector("#calculation")
      .replaceChildren(...page.querySelector("#calculation").childNodes);
    history.replaceState(null, "", address);
  } catch {
    // No connection: the button still sends the form, and the browser shows its error.
  }
}

calculator?.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(work, 200);
});
calculator?.addEventListener("submit", (event) => {
  event.preventDefault();
  work();
});

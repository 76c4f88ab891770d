// The scratch pad: worked out while one types, and kept with the exercise in this browser only.
const form = document.querySelector("[data-pad]");
const field = form.querySelector("textarea");
const results = form.querySelector("[data-results]");
const { id } = document.querySelector(".exercise")?.dataset ?? {};
const store = `pad ${id}`;
const wait = 300; // milliseconds after a key
let timer = 0;
let asked = 0;

async function work() {
  const number = ++asked;
  if (!field.value.trim()) return results.replaceChildren();
  try {
    const answer = await fetch(form.action, {
      method: "POST",
      body: new URLSearchParams({ text: field.value }),
      headers: { "X-Fragment": "1" },
    });
    const html = await answer.text();
    if (!answer.ok || number !== asked) return;
    const page = new DOMParser().parseFromString(html, "text/html");
    results.replaceChildren(...page.body.childNodes);
  } catch {
    // No connection: what is typed stays, and the next key tries again.
  }
}

field.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(work, wait);
  if (!id) return;
  try {
    if (field.value) localStorage.setItem(store, field.value);
    else localStorage.removeItem(store);
  } catch {
    // A private window may refuse to store anything.
  }
});

try {
  if (id) field.value = localStorage.getItem(store) ?? "";
} catch {
  // As above.
}
if (field.value) {
  form.closest("details")?.setAttribute("open", "");
  work();
}

// A file that is edited: shows what is proven of it, and loads anew when it is saved.
const page = document.querySelector("[data-stamp]");
const query = `?name=${encodeURIComponent(page.dataset.name)}`;
const EVERY = 300; // ms

async function proof() {
  const answer = await fetch(`/preview/proof${query}`);
  const html = new DOMParser().parseFromString(await answer.text(), "text/html");
  const found = html.querySelector("#proof");
  if (found) document.querySelector("#proof").replaceChildren(...found.childNodes);
}

async function watch() {
  try {
    const answer = await fetch(`/preview/stamp${query}`);
    if (answer.ok && (await answer.text()) !== page.dataset.stamp) {
      location.reload();
      return;
    }
  } catch {
    // The command has ended, or is being started anew: keep looking.
  }
  setTimeout(watch, EVERY);
}

setTimeout(watch, EVERY);
await proof();

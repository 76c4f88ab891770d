// The preview of an exercise file: shows what lint found, and reloads when the file is saved.
const page = document.querySelector("[data-stamp]");
const query = `?name=${encodeURIComponent(page.dataset.name)}`;
const INTERVAL = 300; // ms

async function proof() {
  const answer = await fetch(`preview/proof${query}`);
  const html = new DOMParser().parseFromString(await answer.text(), "text/html");
  const found = html.querySelector("#proof");
  if (found) document.querySelector("#proof").replaceChildren(...found.childNodes);
}

async function watch() {
  try {
    const answer = await fetch(`preview/stamp${query}`);
    if (answer.ok && (await answer.text()) !== page.dataset.stamp) {
      location.reload();
      return;
    }
  } catch {
    // The command has stopped or is restarting: keep polling.
  }
  setTimeout(watch, INTERVAL);
}

setTimeout(watch, INTERVAL);
await proof();

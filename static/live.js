// The screen of a classroom: its counts are fetched again every few seconds.
const INTERVAL = 5000; // ms
const shown = document.querySelector("#live");

async function look() {
  if (!document.hidden) {
    try {
      const answer = await fetch(shown.dataset.again);
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const found = page.querySelector("#live");
        // A link that has the focus keeps it.
        if (found && !shown.contains(document.activeElement)) shown.replaceChildren(...found.childNodes);
      }
    } catch {
      // The server cannot be reached for a moment: the time on the page says how old it is.
    }
  }
  setTimeout(look, INTERVAL);
}

if (shown) setTimeout(look, INTERVAL);

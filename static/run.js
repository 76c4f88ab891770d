// Refreshes the page of a run every second until the run has ended.
const EVERY = 1000; // ms; every request disturbs a run on the same machine a little

async function look() {
  try {
    const answer = await fetch(location.pathname, { headers: { "X-Fragment": "1" } });
    if (answer.ok) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const [shown, found] = [document.querySelector("#run"), page.querySelector("#run")];
      if (found && !("waits" in found.dataset)) {
        location.reload();
        return;
      }
      if (found && found.innerHTML !== shown.innerHTML) {
        shown.replaceChildren(...found.childNodes);
        shown.dataset.state = found.dataset.state;
      }
    }
  } catch {
    // The server cannot be reached for a moment: keep trying.
  }
  setTimeout(look, EVERY);
}

setTimeout(look, EVERY);

// A run that is queued or running: its state is refreshed until it finishes.
const INTERVAL = 1000; // ms; each request takes a little from a run on the same machine
const SELDOM = 15000; // ms between two things that are read aloud
const spoken = { text: "", at: 0 };

// Read the state aloud when it is another one, but not often: numbers change every second.
function tell(text) {
  if (text !== spoken.text && Date.now() - spoken.at > SELDOM) {
    document.querySelector("#told").textContent = spoken.text = text;
    spoken.at = Date.now();
  }
}

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
      if (found) tell(found.dataset.told.replace(/\s+/g, " "));
      if (found && found.innerHTML !== shown.innerHTML) {
        shown.replaceChildren(...found.childNodes);
        shown.dataset.state = found.dataset.state;
      }
    }
  } catch {
    // The server cannot be reached for a moment: keep polling.
  }
  setTimeout(look, INTERVAL);
}

setTimeout(look, INTERVAL);

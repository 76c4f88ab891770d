// What the pages of `wallclock preview` have in common: the key that lets them edit, and the frame with the exercise.
const KEY = "preview-key";

// The key stands in the address that the command prints, behind the #, which no server and no other site sees.
export function keyOfPage() {
  const given = new URLSearchParams(location.hash.slice(1)).get("key");
  try {
    if (given) localStorage.setItem(KEY, given);
    return given ?? localStorage.getItem(KEY) ?? "";
  } catch {
    return given ?? ""; // a private window may refuse to store anything
  } finally {
    if (given) history.replaceState(null, "", location.pathname + location.search);
  }
}

// Of two tabs, each has its own last text.
export const newPage = () => crypto.getRandomValues(new Uint32Array(2)).join("-");

// A status is read aloud when it changes, and only then.
export function announceIn(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

// Show the exercise again where one has scrolled to; at *address*, if there is one.
export function redraw(frame, address) {
  if (address) {
    frame.src = address;
    return;
  }
  const { scrollY } = frame.contentWindow;
  frame.addEventListener("load", () => frame.contentWindow.scrollTo(0, scrollY), { once: true });
  frame.contentWindow.location.reload();
}

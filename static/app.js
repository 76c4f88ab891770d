// Every page: the theme switch, keyboard access to wide blocks, and modules that only some pages need.
const root = document.documentElement;

const themes = document.querySelector(".themes");
const base = new URL(".", themes.action).pathname; // the path of the site
themes.addEventListener("submit", (event) => {
  event.preventDefault();
  const theme = event.submitter.value;
  root.dataset.theme = theme;
  document.cookie = `theme=${theme}; path=${base}; max-age=34560000; samesite=lax`;
  themes.querySelector(theme === "dark" ? ".to-light" : ".to-dark").focus();
});

// A block that is wider than the page scrolls by itself, so the keyboard has to reach it.
function reachable() {
  for (const block of document.querySelectorAll("math[display=block], table, pre")) {
    const wide = block.scrollWidth > block.clientWidth;
    if (wide) block.setAttribute("tabindex", "0");
    else if (block.getAttribute("tabindex") === "0" && !block.dataset.stays)
      block.removeAttribute("tabindex");
  }
}
let rest = 0; // the timer that waits until the page rests
new MutationObserver(() => {
  clearTimeout(rest);
  rest = setTimeout(reachable, 150);
}).observe(document.querySelector("#main"), { childList: true, subtree: true });
addEventListener("resize", reachable);
document.fonts.ready.then(reachable);
reachable();

// The search: "/" leads to it, from wherever nothing is typed.
const box = document.querySelector("[data-seek]");
const seek = async () => (await import("./search.js")).seek(box);
if (box && box === document.activeElement) seek();
else box?.addEventListener("focus", seek, { once: true });
addEventListener("keydown", (event) => {
  const { target } = event;
  const typing = target.isContentEditable || target.matches?.("input, textarea, select");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  if (box?.offsetParent) box.focus();
  else location.assign(`${base}search`); // the bar of a narrow screen has no field
});

const parts = [];
if (document.querySelector("[data-answer]")) parts.push(import("./exercise.js"));
if (document.querySelector("[data-filter], [data-calculator]")) parts.push(import("./formulas.js"));
if (document.querySelector("[data-pad]")) parts.push(import("./pad.js"));
await Promise.all(parts);
root.dataset.ready = ""; // for tests: from here on the scripts answer; before, the forms work as forms

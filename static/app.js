// Every page: the theme switch, keyboard access to wide blocks, and modules that only some pages need.
const root = document.documentElement;

// A page that the browser kept has the theme of then.
function wear() {
  const theme = /(?:^|; )theme=(light|dark)/.exec(document.cookie)?.[1];
  if (theme) root.dataset.theme = theme;
}
wear();

const themes = document.querySelector(".themes");
const base = new URL(document.querySelector(".brand").href).pathname; // the path of the site
themes.addEventListener("submit", (event) => {
  event.preventDefault();
  const theme = event.submitter.value;
  root.dataset.theme = theme;
  document.cookie = `theme=${theme}; path=${base}; max-age=34560000; samesite=lax`;
  // Safari forgets in a week what a script stores; an exported course has nobody else to store it.
  if (!document.querySelector("script[data-app]"))
    fetch(themes.action, { method: "POST", body: new URLSearchParams({ theme }), keepalive: true }).catch(() => {});
  themes.querySelector(theme === "dark" ? ".to-light" : ".to-dark").focus();
});

// A page that comes back from the memory of the browser: WebKit empties its forms just after that, the theme may
// be another one, and more may be solved by now. It is asked for again, unless something was typed in it.
const fields = () => [...document.querySelectorAll(":is(input, select, textarea):not([type=file])")];
function isTouched(field) {
  const { options, selectedIndex } = field;
  if (options) return selectedIndex > 0 && !options[selectedIndex].defaultSelected;
  return field.value !== field.defaultValue || field.checked !== field.defaultChecked;
}
let left = [];
addEventListener("pagehide", () => (left = fields().map((field) => [field, field.value, field.checked])));
addEventListener("pageshow", ({ persisted }) => persisted && setTimeout(comeBack));
function comeBack() {
  wear();
  for (const [field, value, checked] of left) Object.assign(field, { value, checked });
  if (left.some(([field]) => field.closest("#main") && isTouched(field))) document.dispatchEvent(new Event("returned"));
  else location.reload();
}

// Another language is chosen for the page as it is: scripts have changed its address since.
const back = document.querySelector(".end [name=back]");
back?.form.addEventListener("submit", () => (back.value = back.value.split("?")[0] + location.search));

// What is wider than its place scrolls in it: the keyboard has to reach it, and an edge fades where there is more.
const WIDE = ".math, table, pre, .scroll, .cm-scroller";
// What is in a line of text has no width of its own, whatever Firefox says of what it holds.
const overflow = ({ clientWidth, scrollWidth }) => clientWidth && scrollWidth - clientWidth;
// All is measured before anything changes, so that a page is laid out once.
function reachable() {
  const measured = [...document.querySelectorAll(WIDE)].map((one) => [one, overflow(one), one.scrollLeft]);
  for (const [block, over, left] of measured) {
    const wide = over > 0;
    fade(block, over, left);
    if (block.matches(".scroll, .cm-scroller")) continue; // these are reached already
    if (wide) block.setAttribute("tabindex", "0");
    else if (block.getAttribute("tabindex") === "0" && !block.dataset.stays)
      block.removeAttribute("tabindex");
  }
}
function fade(block, over, left) {
  const more = [left > 1 && "start", left < over - 1 && "end"].filter(Boolean);
  if (more.length) block.dataset.more = more.join(" ");
  else delete block.dataset.more;
}
const moved = ({ target }) => target.matches?.(WIDE) && fade(target, overflow(target), target.scrollLeft);
addEventListener("scroll", moved, { capture: true, passive: true });
let rest = 0; // the timer that waits until the page rests
const later = () => {
  clearTimeout(rest);
  rest = setTimeout(reachable, 150);
};
new MutationObserver(later).observe(document.querySelector("#main"), { childList: true, subtree: true });
addEventListener("toggle", later, { capture: true });
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

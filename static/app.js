// Every page: the theme switch, keyboard access to wide blocks, and modules that only some pages need.
const root = document.documentElement;

const themes = document.querySelector(".themes");
themes.addEventListener("submit", (event) => {
  event.preventDefault();
  const theme = event.submitter.value;
  root.dataset.theme = theme;
  document.cookie = `theme=${theme}; path=/; max-age=34560000; samesite=lax`;
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
addEventListener("resize", reachable);
document.fonts.ready.then(reachable);
reachable();

const parts = [];
if (document.querySelector("[data-answer]")) parts.push(import("./exercise.js"));
if (document.querySelector("[data-filter], [data-calculator]")) parts.push(import("./formulas.js"));
await Promise.all(parts);
root.dataset.ready = ""; // for tests: from here on the scripts answer; before, the forms work as forms

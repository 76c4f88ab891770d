// The text to share: a button copies it; where that is not allowed, it is selected.
import { say } from "./say.js";

document.querySelector("[data-copies]")?.addEventListener("click", async ({ target }) => {
  const text = document.getElementById(target.dataset.copies);
  const says = target.parentElement.querySelector("[role=status]");
  try {
    await navigator.clipboard.writeText(text.value);
    says.textContent = say("Copied.");
  } catch {
    text.select();
    says.textContent = say("Selected: copy it with your keyboard.");
  }
});

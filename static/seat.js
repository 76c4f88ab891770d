// A seat code: copied, or printed.

addEventListener("click", async ({ target }) => {
  const button = target.closest?.("[data-copies], [data-print]");
  if (button && "print" in button.dataset) print();
  if (!button?.dataset.copies) return;
  const says = document.querySelector("[data-copied]");
  try {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent);
    says.textContent = "Copied.";
  } catch {
    says.textContent = "The browser does not allow it: select the code and copy it.";
  }
});

// The map: the lines of the chapter under the pointer, or with the focus, stand out.
const map = () => document.querySelector("[data-map]");

function show(event) {
  const name = event.target.closest?.("[data-chapter]")?.dataset.chapter;
  for (const line of map()?.querySelectorAll("path") ?? [])
    line.classList.toggle("lit", name !== undefined && [line.dataset.before, line.dataset.after].includes(name));
}

document.addEventListener("pointerover", show);
document.addEventListener("focusin", show);

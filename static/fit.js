// A run: an empty field shows what was found for it.
import { explored, form, placed, slideOf } from "./explore.js";

document.addEventListener("explored", () => {
  const state = explored().dataset.state?.split("~") ?? [];
  const boxes = [...form.querySelectorAll(".control [name]")];
  boxes.forEach((box, index) => {
    if (box.value) return;
    if (box.options) box.options[0].text = state[index];
    else {
      box.placeholder = state[index].split(" ")[0];
      placed(slideOf(box.name), box.placeholder);
    }
  });
});

form.addEventListener("formdata", ({ formData }) => {
  for (const [name, text] of [...formData]) if (!text) formData.delete(name);
});

// What is shown is compared with the state before a control began to move.
let begun = "";
form.addEventListener(
  "input",
  ({ target }) => {
    const name = target.dataset.for ?? target.name;
    if (name !== begun) form.elements.was.value = explored().dataset.state;
    begun = name;
  },
  true,
);
form.addEventListener("change", () => (begun = ""));

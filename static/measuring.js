// Files that are dropped anywhere on the form are chosen, as with its button.
const form = document.querySelector(".measuring");
const chosen = form.querySelector("[type=file]");
form.addEventListener("dragover", (event) => {
  if (event.dataTransfer.types.includes("Files")) event.preventDefault();
});
form.addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  chosen.files = event.dataTransfer.files;
  chosen.focus();
});

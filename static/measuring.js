// Files that are dropped anywhere on the page are chosen, as with the button of the form.
const form = document.querySelector(".measuring");
const chosen = form.querySelector("[type=file]");
document.addEventListener("dragover", (event) => {
  if (event.dataTransfer.types.includes("Files")) event.preventDefault();
});
document.addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  chosen.files = event.dataTransfer.files;
  const door = form.closest("details");
  if (door) door.open = true;
  chosen.focus();
});

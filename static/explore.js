// An explorer: what the controls say is worked out by the server and shown in place.
const form = document.querySelector("[data-explore]");
const live = document.querySelector("[data-live]");
let asked = 0;
let waiting = 0;

function address() {
  return `${form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`;
}

async function show() {
  const number = ++asked;
  const here = address();
  try {
    const answer = await fetch(here, { headers: { "X-Fragment": "1" } });
    if (!answer.ok || number !== asked) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const [old, fresh] = [document.querySelector("#explored"), page.querySelector("#explored")];
    const open = [...old.querySelectorAll("details")].map((details) => details.open);
    old.replaceWith(fresh);
    fresh.querySelectorAll("details").forEach((details, index) => (details.open = open[index] ?? false));
    live.textContent = fresh.querySelector(".said").textContent.trim();
    history.replaceState(null, "", here);
  } catch {
    live.textContent = "The server cannot be reached.";
  }
}

function soon(wait) {
  clearTimeout(waiting);
  waiting = setTimeout(show, wait);
}

function written(slide) {
  const { low, high } = slide.dataset;
  if (!low) return slide.value;
  const share = Number(slide.value) / Number(slide.max);
  const value = Number(low) * (Number(high) / Number(low)) ** share;
  return String(value < 10 && Number(low) < 1 ? Number(value.toPrecision(2)) : Math.round(value));
}

function placed(slide, text) {
  const { low, high } = slide.dataset;
  const value = Number(text);
  if (!(value > 0)) return;
  slide.value = low ? (Number(slide.max) * Math.log(value / Number(low))) / Math.log(Number(high) / Number(low)) : value;
}

form.addEventListener("input", (event) => {
  const target = event.target;
  if (target.matches("[data-for]")) {
    form.elements[target.dataset.for].value = written(target);
    soon(30);
    return;
  }
  const slide = form.querySelector(`[data-for="${target.name}"]`);
  if (slide) placed(slide, target.value);
  soon(target.matches("select") ? 0 : 300);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  show();
});
form.querySelector("[data-copy]").addEventListener("click", async (event) => {
  const link = new URL(address(), location.href).href;
  try {
    await navigator.clipboard.writeText(link);
    event.target.textContent = "Copied";
  } catch {
    history.replaceState(null, "", link);
    event.target.textContent = "It is in the address bar";
  }
});

// Values of a figure: under the pointer, or one after another with the arrow keys.
function read(canvas, point) {
  const figure = canvas.closest("[data-figure]");
  figure.querySelector(".at")?.classList.remove("at");
  point?.classList.add("at");
  figure.querySelector(".readout").textContent = point?.querySelector("title").textContent ?? "";
}

document.addEventListener("pointerover", (event) => {
  const canvas = event.target.closest?.(".canvas");
  if (canvas) read(canvas, event.target.closest("g"));
});
document.addEventListener("keydown", (event) => {
  const canvas = event.target;
  const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!way || !canvas.matches?.(".canvas")) return;
  event.preventDefault();
  const points = [...canvas.querySelectorAll("g")];
  const here = points.indexOf(canvas.querySelector(".at"));
  read(canvas, points[(here + way + points.length) % points.length]);
});

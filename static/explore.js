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

// A slider goes evenly, by factors, or by powers of two.
function written(slide) {
  const { scaling, low, high } = slide.dataset;
  if (!scaling) return slide.value;
  if (scaling === "doubles") return String(2 ** Number(slide.value));
  const share = Number(slide.value) / Number(slide.max);
  const value = Number(low) * (Number(high) / Number(low)) ** share;
  return String(value < 10 && Number(low) < 1 ? Number(value.toPrecision(2)) : Math.round(value));
}

function placed(slide, text) {
  const { scaling, low, high } = slide.dataset;
  const value = Number(text.replaceAll(",", ""));
  if (!scaling) slide.value = value;
  else if (value > 0)
    slide.value = scaling === "doubles" ? Math.log2(value) : (Number(slide.max) * Math.log(value / Number(low))) / Math.log(Number(high) / Number(low));
}

// What a screen reader says of a slider is the value, not the place.
function said(slide) {
  const box = form.elements[slide.dataset.for];
  const unit = box.parentNode.querySelector(".unit")?.textContent ?? "";
  slide.setAttribute("aria-valuetext", `${box.value} ${unit}`.trim());
}

form.addEventListener("input", (event) => {
  const target = event.target;
  if (target.matches("[data-for]")) {
    form.elements[target.dataset.for].value = written(target);
    said(target);
    soon(30);
    return;
  }
  const slide = form.querySelector(`[data-for="${target.name}"]`);
  if (slide) {
    placed(slide, target.value);
    said(slide);
  }
  soon(target.matches("select") ? 0 : 300);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  show();
});
form.querySelector("[data-share]").addEventListener("click", async (event) => {
  const link = new URL(address(), location.href).href;
  try {
    await navigator.clipboard.writeText(link);
    event.target.textContent = "Copied";
  } catch {
    history.replaceState(null, "", link);
    event.target.textContent = "It is in the address bar";
  }
});

// A slider that runs by itself, a step at a time, until its end.
let running = 0;
form.addEventListener("click", (event) => {
  const button = event.target.closest("[data-run]");
  if (!button) return;
  const box = form.elements[button.dataset.run];
  const slide = form.querySelector(`[data-for="${button.dataset.run}"]`);
  const stop = () => {
    clearInterval(running);
    running = 0;
    button.textContent = "Play";
  };
  if (running) return stop();
  button.textContent = "Stop";
  if (document.querySelector("#explored").dataset.ended) box.value = slide.value = slide.min;
  running = setInterval(async () => {
    slide.value = Number(box.value) + 1;
    box.value = slide.value;
    await show();
    if (document.querySelector("#explored").dataset.ended) stop();
  }, 700);
});

// The preview of an exercise file: its text in an editor, what lint finds in it, and the exercise that it makes.
import { yamlEditor } from "./yaml-editor.js";

const bench = document.querySelector(".workbench");
const query = `?name=${encodeURIComponent(bench.dataset.name)}`;
const page = crypto.getRandomValues(new Uint32Array(2)).join("-"); // of two tabs, each has its own last text
const frame = bench.querySelector("iframe");
const area = bench.querySelector("#text");
const PAUSE = 400; // ms without a key, after which the text is checked
const INTERVAL = 300; // ms between two looks at the file
const KEY = "preview-key";
const find = (name) => bench.querySelector(`[data-${name}]`);

// The key stands in the address that the command prints, behind the #, which no server and no other site sees.
function keyOfPage() {
  const given = new URLSearchParams(location.hash.slice(1)).get("key");
  try {
    if (given) localStorage.setItem(KEY, given);
    return given ?? localStorage.getItem(KEY) ?? "";
  } catch {
    return given ?? ""; // a private window may refuse to store anything
  } finally {
    if (given) history.replaceState(null, "", location.pathname + location.search);
  }
}

let key = keyOfPage();
let stored = area.value; // the text of the file
let drawn = find("shown").dataset.shown === "yes" ? stored : null; // the text that the frame shows
let turn = 0;
let rest = 0; // the timer that waits until one has typed

function announce(name, text) {
  if (find(name).textContent !== text) find(name).textContent = text;
}

function lock() {
  key = "";
  editor.allow(false);
  find("locked").hidden = false;
}

const send = (path, body) =>
  fetch(`preview/${path}${query}&page=${page}`, { method: "POST", body, headers: { "X-Preview-Key": key } });

// The last text counts: an earlier one may be answered later, or not at all.
async function check() {
  const mine = ++turn;
  const text = editor.text();
  const reply = await (key ? send("draft", text) : fetch(`preview/proof${query}`)).catch(() => null);
  if (mine !== turn) return;
  if (reply?.status === 403) {
    lock();
    check();
  } else if (reply?.ok) {
    show(new DOMParser().parseFromString(await reply.text(), "text/html").querySelector("#proof"), text);
    announce("state", standing());
  } else {
    announce("state", reply ? "The text cannot be checked: it is too large." : "The command has stopped. Your text is still here.");
  }
}

function show(proof, text) {
  bench.querySelector("#proof").replaceChildren(...proof.childNodes);
  announce("count", find("sum").textContent);
  const findings = [...bench.querySelectorAll(".findings li")].map((one) => ({
    line: Number(one.querySelector("[data-line]")?.dataset.line ?? 1),
    level: one.dataset.level,
    says: one.querySelector("span").textContent,
  }));
  editor.mark(findings);
  const isShown = proof.dataset.shown === "yes";
  find("old").hidden = isShown;
  find("old").firstElementChild.hidden = drawn === null;
  if (isShown && text !== drawn) draw(text);
}

function draw(text) {
  const first = drawn === null;
  drawn = text;
  if (first) {
    frame.src = frame.dataset.src;
    return;
  }
  const { scrollY } = frame.contentWindow;
  frame.addEventListener("load", () => frame.contentWindow.scrollTo(0, scrollY), { once: true });
  frame.contentWindow.location.reload();
}

const standing = () => (editor.text() === stored ? "" : "Not saved");

function changed() {
  clearTimeout(rest);
  rest = setTimeout(check, PAUSE);
  announce("state", standing());
}

async function watch() {
  const answer = await fetch(`preview/stamp${query}`).catch(() => null); // the command may be restarting
  const stamp = answer?.ok ? await answer.text() : bench.dataset.stamp;
  if (stamp !== bench.dataset.stamp && editor.text() === stored) location.reload();
  else setTimeout(watch, INTERVAL);
}

find("another").addEventListener("click", () => {
  const [seed] = crypto.getRandomValues(new Uint32Array(1));
  frame.src = `${frame.dataset.src.split("?")[0]}?seed=${seed >>> 2}`; // below 2³⁰, which draws
});
frame.addEventListener("load", () => {
  const { search } = frame.contentWindow.location;
  for (const link of find("drawings").querySelectorAll("a")) {
    if (link.search === search) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
});
bench.addEventListener("click", ({ target }) => {
  if (target.dataset.line) editor.jump(Number(target.dataset.line));
});

const editor = await yamlEditor(area, { changed });
if (key) editor.allow(true);
else lock();
setTimeout(watch, INTERVAL);
await check();
bench.dataset.checked = ""; // for tests

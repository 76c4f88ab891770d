// The preview of an exercise file: its text in an editor, what lint finds in it, and the exercise that it makes.
import { completion } from "./yaml-completion.js";
import { announceIn, keyOfPage, newPage, redraw } from "./preview-page.js";
import { yamlEditor } from "./yaml-editor.js";

const bench = document.querySelector(".workbench");
const query = `?name=${encodeURIComponent(bench.dataset.name)}`;
const page = newPage();
const frame = bench.querySelector("iframe");
const area = bench.querySelector("#text");
const PAUSE = 400; // ms without a key, after which the text is checked
const INTERVAL = 300; // ms between two looks at the file
const find = (name) => bench.querySelector(`[data-${name}]`);
const announce = (name, text) => announceIn(find(name), text);

let key = keyOfPage();
if ("lockedText" in bench.dataset) {
  // Other machines can ask for this page: the text comes only with the key.
  const reply = await send("text", "GET").catch(() => null);
  if (reply?.ok) {
    area.value = await reply.text();
    bench.dataset.stamp = stampOf(reply);
  } else if (reply?.status === 403) key = "";
}
let stored = area.value; // the text of the file
let drawn = find("shown").dataset.shown === "yes" ? stored : null; // the text that the frame shows
let theirs = null; // the text of the file and its stamp, where another has changed it
let seen = bench.dataset.stamp; // of the file, when this page looked last
let saving = false;
let turn = 0;
let rest = 0; // the timer that waits until one has typed

function lock() {
  key = "";
  editor.allow(false);
  find("locked").hidden = false;
  find("save").hidden = true;
}

function send(path, method, body, headers = {}) {
  return fetch(`preview/${path}${query}&page=${page}`, { method, body, headers: { ...headers, "X-Preview-Key": key } });
}

function stampOf(reply) {
  return reply.headers.get("etag").replaceAll('"', "");
}

// The last text counts: an earlier one may be answered later, or not at all.
async function check() {
  const mine = ++turn;
  const text = editor.text();
  const reply = await (key ? send("draft", "POST", text) : send("proof", "GET")).catch(() => null);
  if (mine !== turn) return;
  if (reply?.status === 403 && !key) {
    announce("state", "");
  } else if (reply?.status === 403) {
    lock();
    check();
  } else if (reply?.ok) {
    show(new DOMParser().parseFromString(await reply.text(), "text/html").querySelector("#proof"), text);
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
  redraw(frame, drawn === null && frame.dataset.src);
  drawn = text;
}

const standing = () => (editor.text() === stored ? "" : "Not saved");

function changed() {
  clearTimeout(rest);
  rest = setTimeout(check, PAUSE);
  announce("state", standing());
}

// A file is saved only over the text that this page has read: its stamp says which that was.
async function save() {
  if (!key || saving) return;
  saving = true;
  const text = editor.text();
  const reply = await send("text", "PUT", text, { "If-Match": `"${bench.dataset.stamp}"` }).catch(() => null);
  if (reply?.ok) keep(text, await reply.text());
  else if (reply?.status === 412) await compare();
  else if (reply?.status === 403) lock();
  else announce("state", `Not saved. ${reply ? await reason(reply) : "The command has stopped."}`);
  saving = false;
}

const isPlain = (reply) => reply.headers.get("content-type")?.startsWith("text/plain");
const reason = async (reply) => (isPlain(reply) ? reply.text() : "The text is too large.");

function keep(text, stamp) {
  stored = text;
  bench.dataset.stamp = stamp;
  find("conflict").hidden = true;
  announce("state", standing() || "Saved");
}

// The file is no longer what this page has read: where nothing was typed, the page follows it.
async function compare() {
  const reply = await send("text", "GET").catch(() => null);
  if (!reply || reply.status === 403) return;
  if (!reply.ok) {
    announce("state", await reason(reply));
    return;
  }
  theirs = { text: await reply.text(), stamp: stampOf(reply) };
  if (theirs.stamp === "gone") {
    keep(null, theirs.stamp);
    announce("state", "The file is gone. Saving writes it again.");
  } else if (theirs.text === editor.text()) keep(theirs.text, theirs.stamp);
  else if (editor.text() === stored) take();
  else {
    announce("theirs", theirs.text);
    find("conflict").hidden = false;
  }
}

function take() {
  editor.write(theirs.text);
  keep(theirs.text, theirs.stamp);
  check();
}

async function watch() {
  const answer = saving ? null : await fetch(`preview/stamp${query}`).catch(() => null); // it may be restarting
  const stamp = answer?.ok && !saving ? await answer.text() : seen;
  if (stamp !== seen && stamp !== bench.dataset.stamp) await compare();
  seen = stamp;
  setTimeout(watch, INTERVAL);
}

find("save").addEventListener("click", save);
find("take").addEventListener("click", take);
find("over").addEventListener("click", () => {
  bench.dataset.stamp = theirs.stamp;
  save();
});
addEventListener("keydown", (event) => {
  if (event.key !== "s" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
  event.preventDefault();
  save();
});
addEventListener("beforeunload", (event) => key && standing() && event.preventDefault());
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

const schema = await fetch("preview/schema").then((reply) => reply.json());
const editor = await yamlEditor(area, {
  changed,
  extend: (c) => completion(c, schema, (words) => announce("word", words)),
});
if (key) editor.allow(true);
else lock();
setTimeout(watch, INTERVAL);
await check();
bench.dataset.checked = ""; // for tests

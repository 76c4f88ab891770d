// Every page of an exported course: what a server would answer, a worker answers.
import { say } from "../../static/say.js";
import { run } from "./runner.js";

const script = document.querySelector("script[data-app]");
const base = new URL("../../", import.meta.url);
const files = JSON.parse(script.dataset.files);
const outside = window.fetch.bind(window);
const saved = /^\/(explore\/(fit\/better|[^/]+)\/\d+\.(svg|csv)|progress\/export)$/;
const leads = "/route"; // a link that stores a choice, and leads to a page
const asks = new Map();
let port = null; // to the desk
let number = 0;
let failed = "";
let ready = false;
const patience = 1000; // milliseconds until a page says what it waits for

const stored = `wallclock ${base.pathname}`;
// Safari deletes after a week without a visit what was not asked to stay.
function remember() {
  try {
    if (!localStorage.getItem(stored)) navigator.storage?.persist?.().catch(() => {});
    localStorage.setItem(stored, "rows");
  } catch {
    // A private window may refuse to store anything: then pages show no marks.
  }
}

const replied = (reply) => ({ reply });
const broken = ({ message }) => ({ broken: message });

// A worker that all pages share keeps Python from one to the next, where the browser has such workers.
function desk() {
  if (port) return port;
  const address = new URL("desk.js", import.meta.url);
  const options = { type: "module", name: base.pathname };
  const worker = window.SharedWorker ? new SharedWorker(address, options) : new Worker(address, options);
  port = worker.port ?? worker;
  port.onmessage = async ({ data }) => {
    if (data.run) return port.postMessage(await run(files, data.wish).then(replied, broken));
    if (data.ready) {
      ready = true;
      return keep();
    }
    if (data.failed) console.error(data.failed);
    if (data.failed && !data.number) return note((failed = data.failed));
    const { resolve, reject } = asks.get(data.number);
    asks.delete(data.number);
    if (data.answer?.known) remember();
    if (data.answer) resolve(data.answer);
    else reject(new Error(data.failed));
  };
  worker.onerror = (event) => note((failed = event.message || say("the worker did not start")));
  port.postMessage({ files, base: base.pathname });
  addEventListener("pagehide", () => port.postMessage({ left: true }));
  return port;
}

// Once this page is served, the rest is fetched as well: from then on no connection is needed.
async function keep() {
  try {
    await navigator.serviceWorker.register(new URL("service.js", base), { scope: base.pathname });
    (await navigator.serviceWorker.ready).active.postMessage("keep all");
  } catch {
    // No https, or a private window: the course works while there is a connection.
  }
}

// Said beside the content while something waits, and where it cannot work.
const once = () => say("Python is on its way to this device: 5 MB, once. Your answer is checked when it is here.");
function note(text, place = document.querySelector("#main")) {
  document.querySelector("[data-desk]")?.remove();
  if (!text && !failed) return;
  const says = document.createElement("p");
  says.dataset.desk = "";
  says.className = "feedback notice";
  says.setAttribute("role", "status");
  says.textContent = failed
    ? say("This browser cannot compute here: {reason}. Reload the page, or update the browser.", { reason: failed })
    : text;
  place.prepend(says);
}

// The address as the site knows it: without the folder that the course lies in.
function inside(address) {
  const found = new URL(address, location.href);
  if (found.origin !== base.origin || !found.pathname.startsWith(base.pathname)) return "";
  return `/${found.pathname.slice(base.pathname.length)}`.replace(/(?<=.)\/$/, "") + found.search;
}

async function ask(method, address, headers, fields) {
  const mine = ++number;
  const waits = setTimeout(() => {
    const form = document.querySelector("[data-answer] .verdict");
    if (!ready && method === "POST" && form) note(once(), form);
  }, patience);
  try {
    return await new Promise((resolve, reject) => {
      asks.set(mine, { resolve, reject });
      desk().postMessage({ number: mine, wish: { method, address, headers, fields } });
    });
  } finally {
    clearTimeout(waits);
    note("");
  }
}

async function fieldsOf(form) {
  const pairs = [...form.entries()];
  return Promise.all(
    pairs.map(async ([name, value]) => [name, typeof value === "string" ? value : { file: await value.text() }]),
  );
}

window.fetch = async (wish, init = {}) => {
  const address = inside(wish instanceof Request ? wish.url : wish);
  const headers = Object.fromEntries(
    Object.entries(init.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  if (!address || !headers["x-fragment"]) return outside(wish, init);
  const fields = init.body ? [...new URLSearchParams(init.body)] : [];
  const answer = await ask(init.method ?? "GET", address, headers, fields);
  return new Response(answer.text, { status: answer.status, headers: answer.headers });
};

// A whole page that the worker made, in place of the one that was exported.
function show(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const [fresh, main] = [page.querySelector("#main"), document.querySelector("#main")];
  if (!fresh) return note(say("This needs a server."));
  document.title = page.title;
  main.replaceChildren(...fresh.childNodes);
  for (const link of page.querySelectorAll("head link[rel=stylesheet]"))
    if (!document.querySelector(`link[href="${link.getAttribute("href")}"]`) && !has(link)) document.head.append(link);
}
// What the worker adds to a part of the page that was exported.
function insert(html, part) {
  document.querySelector(part).insertAdjacentHTML("afterbegin", html);
}
const has = (link) =>
  [...document.querySelectorAll("link[rel=stylesheet]")].some((one) => one.href === new URL(link.getAttribute("href"), location.href).href);

document.addEventListener("submit", async (event) => {
  const form = event.target;
  const address = inside(form.getAttribute("action") ?? location.href);
  if (event.defaultPrevented || form.method !== "post" || !address) return;
  event.preventDefault();
  note(say("One moment …"));
  const data = new FormData(form);
  if (event.submitter?.name) data.append(event.submitter.name, event.submitter.value);
  const answer = await ask("POST", address, {}, await fieldsOf(data));
  note("");
  if (answer.headers.location) return go(answer.headers.location);
  if (answer.status === 404) return note(say("This needs a server."));
  sessionStorage.setItem("shown", JSON.stringify([location.pathname + location.search, answer.text]));
  location.reload();
});

function go(address) {
  const [before, after] = [location.href.split("#")[0], new URL(address, location.href)];
  location.assign(after);
  if (before === after.href.split("#")[0]) location.reload();
}

document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("a[href]");
  const address = link ? inside(link.href) : "";
  const [path] = address.split("?");
  if (!saved.test(path) && path !== leads) return;
  event.preventDefault();
  const answer = await ask("GET", address, {}, []);
  if (path === leads) return go(answer.headers.location);
  const type = answer.headers["content-type"];
  const file = document.createElement("a");
  file.href = URL.createObjectURL(new Blob([answer.text], { type }));
  file.download = /filename="([^"]+)"/.exec(answer.headers["content-disposition"])?.[1] ?? "file";
  file.click();
});

// What a page shows that depends on its address, or on what the learner has done.
async function prepare() {
  const [place, text] = JSON.parse(sessionStorage.getItem("shown") ?? "[]");
  sessionStorage.removeItem("shown");
  if (place === location.pathname + location.search) return show(text);
  const query = new URLSearchParams(location.search);
  if (query.get("seed") === "another") {
    query.set("seed", 1 + Math.floor(Math.random() * 1e6));
    history.replaceState(null, "", `?${query}`);
  }
  if (!location.search && !("always" in script.dataset)) return;
  // What was exported is for another address: it is not shown while this one is worked out.
  const exported = [...document.querySelector("#main").children];
  for (const part of exported) part.hidden = true;
  note(say("One moment: this page is computed on your device …"));
  try {
    const answer = await ask("GET", inside(location.href), {}, []);
    if (answer.headers.location) return go(answer.headers.location);
    if (answer.headers["x-part"]) return insert(answer.text, answer.headers["x-part"]);
    if (answer.headers["content-type"].includes("html")) return show(answer.text);
  } finally {
    for (const part of exported) part.hidden = false; // without an answer, what was exported
  }
}

// The marks of what is done, once the worker is there: on a page whose scripts have begun already.
async function refresh() {
  if (!("marks" in script.dataset) || location.search) return;
  const answer = await ask("GET", inside(location.href), {}, []);
  const page = new DOMParser().parseFromString(answer.text, "text/html");
  const kept = document.querySelector("[data-answer]") ? ["#path", ".help"] : ["#main"];
  for (const part of kept) {
    const fresh = page.querySelector(part);
    if (fresh) document.querySelector(part)?.replaceWith(fresh);
  }
}

for (const begun of document.querySelectorAll("[name=begun]"))
  begun.value = Math.floor(Date.now() / 1000); // on this device, not at export
await prepare().catch((error) => note((failed = String(error.message ?? error))));
for (const later of document.querySelectorAll("link[data-later]")) await import(later.href); // in the place of a script
await import(new URL(script.dataset.app, location.href));
performance.mark("ready"); // from now on, everything on the page answers
// The desk starts where something is computed, or where there is something to mark.
const computes = document.querySelector("[data-answer], [data-explore], [data-calculator]");
const rest = window.requestIdleCallback ?? ((work) => setTimeout(work, 200));
rest(() => {
  if (computes) desk();
  else keep();
  if (localStorage.getItem(stored)) refresh().catch(() => {});
});

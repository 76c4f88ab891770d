// The worker that all pages ask: the site's own code, in Python, and what the learner has done.
import { python } from "./unpack.js";

let ready = null;

const done = (wish) =>
  new Promise((resolve, reject) => {
    wish.onsuccess = () => resolve(wish.result);
    wish.onerror = () => reject(wish.error);
  });

// Rows are stored one by one, in the order in which they came. A private window may refuse.
async function store(base) {
  try {
    const opening = indexedDB.open(`wallclock ${base}`, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("rows", { autoIncrement: true });
    return await done(opening);
  } catch {
    return null;
  }
}

const rows = (database, mode) => database.transaction("rows", mode).objectStore("rows");

// The page that asks runs programs, in a worker that it can stop: not every browser lets a shared worker have one.
let asking = null; // the port of the page whose wish is granted
let running = null; // what waits for a reply
const gone = new Set(); // ports of pages that were left
function run(wish) {
  return new Promise((resolve, reject) => {
    running = { resolve, reject };
    if (gone.has(asking)) reject(new Error("the page was left"));
    else asking.postMessage({ run: true, wish });
  });
}

async function start(message) {
  const [started, database] = await Promise.all([python(message.files, "packages", "course"), store(message.base)]);
  const keep = (kind, text) => database && rows(database, "readwrite").add([kind, text]);
  const clear = () => database && rows(database, "readwrite").clear();
  const make = started.runPython("from app.desk import Desk; Desk");
  const desk = make(message.base, run, keep, clear);
  let known = -1;
  return async (wish) => {
    // Another tab may have stored something.
    if (database && (await done(rows(database, "readonly").count())) !== known)
      desk.load(JSON.stringify(await done(rows(database, "readonly").getAll())));
    const answer = JSON.parse(await desk.answer(JSON.stringify(wish)));
    known = database ? await done(rows(database, "readonly").count()) : -1;
    return { ...answer, known };
  };
}

let queue = Promise.resolve();
function grant(port, { number, wish }) {
  queue = queue.then(async () => {
    try {
      const answer = await ready;
      asking = port;
      port.postMessage({ number, answer: await answer(wish) });
    } catch (error) {
      port.postMessage({ number, failed: String(error) });
    }
  });
}

// A page is left: what it runs will not be answered. It may come back.
function leave(port) {
  gone.add(port);
  if (port === asking) running?.reject(new Error("the page was left"));
}

function serve(port) {
  port.onmessage = ({ data }) => {
    if (data.left) return leave(port);
    gone.delete(port);
    if (data.reply) running.resolve(data.reply);
    else if (data.broken) running.reject(new Error(data.broken));
    else if (data.wish) grant(port, data);
    else begin(port, data);
  };
}

function begin(port, message) {
  ready ??= start(message);
  ready.then(
    () => port.postMessage({ ready: true }),
    (error) => port.postMessage({ failed: String(error.message ?? error) }),
  );
}

// One for all pages of the course, which starts Python once; where there is none, one for each page.
if ("onconnect" in self) self.onconnect = ({ ports: [port] }) => serve(port);
else serve(self);

// The worker that the pages ask: the site's own code, in Python, and what the learner has done.
import { python } from "./unpack.js";

const wall = 3000; // milliseconds that a program may take
let ready = null;
let files = null;
let module = null;

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

// Programs run in a worker of their own, which is stopped when the time is up.
let runner = null;
function newRunner() {
  const worker = new Worker(new URL("program.js", import.meta.url), { type: "module" });
  const prepared = new Promise((resolve, reject) => {
    worker.onmessage = resolve;
    worker.onerror = reject;
  });
  worker.postMessage({ files, module });
  return { worker, prepared };
}

async function run(wish) {
  runner ??= newRunner();
  const { worker, prepared } = runner;
  await prepared;
  const begun = performance.now();
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      worker.terminate();
      runner = newRunner();
      resolve(JSON.stringify({ replies: [], stopped: "time", seconds: wall / 1000 }));
    }, wall);
    worker.onmessage = ({ data }) => {
      clearTimeout(timer);
      const seconds = (performance.now() - begun) / 1000;
      resolve(JSON.stringify({ ...data, seconds }));
    };
    worker.postMessage({ wish });
  });
}

async function start(message) {
  files = message.files;
  const [found, database] = await Promise.all([python(files, "course"), store(message.base)]);
  module = found.module;
  const { started } = found;
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
self.onmessage = ({ data }) => {
  if (data.files) {
    ready = start(data);
    ready.then(
      () => self.postMessage({ ready: true }),
      (error) => self.postMessage({ failed: String(error.message ?? error) }),
    );
    return;
  }
  queue = queue.then(async () => {
    try {
      const answer = await (await ready)(data.wish);
      self.postMessage({ number: data.number, answer });
    } catch (error) {
      self.postMessage({ number: data.number, failed: String(error) });
    }
  });
};

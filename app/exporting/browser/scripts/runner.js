// The learner's programs: each runs in a worker of the page, which is stopped when the time is up.
const wall = 3000; // milliseconds that a program may take
let ready = null;

function start(files) {
  const worker = new Worker(new URL("program.js", import.meta.url), { type: "module" });
  worker.postMessage({ files });
  return new Promise((resolve, reject) => {
    worker.onmessage = () => resolve(worker);
    worker.onerror = ({ message }) => reject(new Error(message));
  });
}

// The reply of a program, as JSON.
export async function run(files, wish) {
  ready ??= start(files);
  const worker = await ready;
  const begun = performance.now();
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      worker.terminate();
      ready = start(files);
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

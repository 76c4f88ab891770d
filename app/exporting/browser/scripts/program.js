// The worker that runs a learner's program; the page ends it when it takes too long.
import { python } from "./unpack.js";

let run = null;

self.onmessage = async ({ data }) => {
  if (data.files) {
    const started = await python(data.files, "program");
    run = started.runPython("import program; program.run");
    self.postMessage("ready");
    return;
  }
  self.postMessage(JSON.parse(run(data.wish)));
};

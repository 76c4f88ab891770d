// Traces are made slim before they leave the browser: no paths, hosts, operators or source lines.
// It keeps what app/core/measurements/trace/redaction.py keeps. A file of another kind is sent as it is: the
// server says what it is. A trace that cannot be made slim is not sent.
import { say } from "./say.js";

const WORK = /^(kernel|gpu_memcpy|gpu_memset|memcpy|memset)$/i;
const CALL = /^(cuda_runtime|cuda_driver|runtime|xpu_runtime|xpu_driver|privateuse1_runtime|privateuse1_driver)$/i;
// Of a device that is not read, so that the server can say so; see foreign_devices.py.
const KNOWN = new RegExp(
  "^(|cpu_op|user_annotation|gpu_user_annotation|operator|external_correlation|cpu_instant_event" +
    "|python_function|overhead|cuda_sync|cuda_event|cuda_profiler_range|xpu_sync|collective_comm" +
    "|hardware_counters|trace|glow_runtime|mtia_runtime)$",
  "i",
);
const DEVICE = /mtia|hpu|npu|tpu|mlu|musa|neuron|xla|ascend/i;
const PROCESS = /^\/device:\w+:\d+|^(?:Ascend Hardware|[MNHT]PU)\b/;
const IDLE = /Query|Get|Occupancy|IsCapturing|PeekAt|SetAttribute|Event(?:Record|Create|Destroy)|WaitEvent/;
const STEP = /^ProfilerStep#\d+/;
const PATH = /(?:[A-Za-z]:)?(?:[/\\][\w.\-+@~ ]+){2,}[/\\]?/g;
const ARGUMENTS = [
  "correlation", "stream", "device", "External id", "bytes", "Collective name", "In msg nelems",
  "Out msg nelems", "Group size", "Process Group Name", "Process Group Ranks", "dtype",
];
const RECORD = ["backend", "rank", "world_size", "nccl_version"];
const HEAD = /"traceEvents"\s*:\s*\[/;
const LONGEST = 1 << 24; // letters before the list, and of an event
const WORD = /^[\w.-]{0,16}$/;
const MARKS = /["\\{}[\]]/g;

const foreign = ({ cat = "", args }) => !KNOWN.test(cat) && (args?.stream !== undefined || DEVICE.test(cat));
const process = ({ ph, args }) => (ph === "M" && PROCESS.exec(args?.name)?.[0]) || "";

function needed(event) {
  const { ph, cat = "", name = "" } = event;
  if (ph !== "X") return process(event) !== "";
  if (CALL.test(cat)) return !IDLE.test(name);
  if (STEP.test(name)) return cat !== "gpu_user_annotation";
  return WORK.test(cat) || name === "record_param_comms" || foreign(event);
}

// The same short text for the same name on every rank; numbers stay what they are.
function digest(value) {
  if (/^\d+$/.test(value)) return String(value);
  const mixed = (hash, letter) => Math.imul(hash ^ letter.codePointAt(0), 16777619) >>> 0;
  return [...String(value)].reduce(mixed, 2166136261).toString(16);
}

function argument(key, value) {
  if (key === "Process Group Name") return digest(value);
  if (key === "Process Group Ranks") return value;
  return typeof value === "number" || WORD.test(value) ? value : digest(value);
}

function slimmed(event) {
  const { ph, cat, name, pid, tid, ts, dur, args = {} } = event;
  if (ph === "M") return { ph, name, pid, args: { name: process(event) } };
  const kept = ARGUMENTS.filter((key) => args[key] !== undefined && args[key] !== null);
  return {
    ph, cat, name: STEP.exec(name)?.[0] ?? name.replace(PATH, "/"), pid, tid, ts, dur,
    args: Object.fromEntries(kept.map((key) => [key, argument(key, args[key])])),
  };
}

// The event that *text* is; none if it is damaged.
function parsed(text) {
  try {
    return [JSON.parse(text)];
  } catch {
    return [];
  }
}

// Takes text piece by piece; gives the events that are complete.
class Events {
  rest = "";
  depth = 0;
  at = 0;
  begin = 0;
  quoted = false;
  started = false;
  ended = false;
  head = "";

  take(text) {
    this.rest += text;
    if (!this.started && !this.#start()) return [];
    const found = [];
    MARKS.lastIndex = this.at;
    for (let mark = MARKS.exec(this.rest); mark && !this.ended; mark = MARKS.exec(this.rest)) {
      this.#pass(mark[0], mark.index, found);
    }
    const cut = this.depth ? this.begin : this.rest.length;
    if (!this.ended) {
      this.at = Math.max(this.rest.length, this.at) - cut;
      this.rest = this.rest.slice(cut);
      this.begin = 0;
    }
    if (this.rest.length > LONGEST) throw new RangeError("an event is too long");
    return found;
  }

  #start() {
    const list = /^\s*\[/.exec(this.rest) ?? HEAD.exec(this.rest);
    if (!list) return false;
    this.head = this.rest.slice(0, list.index);
    this.rest = this.rest.slice(list.index + list[0].length);
    this.started = true;
    return true;
  }

  #pass(mark, index, found) {
    if (this.quoted) {
      if (mark === "\\") MARKS.lastIndex = index + 2;
      if (mark === "\\") this.at = index + 2;
      if (mark === '"') this.quoted = false;
    } else if (mark === '"') this.quoted = true;
    else if (mark === "{" || mark === "[") {
      if (!this.depth) this.begin = index;
      this.depth += 1;
    } else if (!this.depth) {
      this.ended = true;
      this.rest = this.rest.slice(index + 1);
    } else {
      this.depth -= 1;
      if (!this.depth) found.push(...parsed(this.rest.slice(this.begin, index + 1)));
    }
  }
}

function record(head, tail) {
  for (const text of [`${head.replace(/,\s*$/, "")}}`, `{${tail.replace(/^\s*,/, "")}`]) {
    try {
      const { distributedInfo: job, deviceProperties: gpus } = JSON.parse(text);
      if (!job && !gpus) continue;
      const kept = Object.fromEntries(RECORD.filter((key) => key in (job ?? {})).map((key) => [key, job[key]]));
      const groups = (job?.pg_config ?? []).map(({ pg_name, ranks }) => ({ pg_name: digest(pg_name), ranks }));
      return {
        distributedInfo: groups.length ? { ...kept, pg_config: groups } : kept,
        deviceProperties: gpus?.[0]?.name ? [{ id: 0, name: gpus[0].name }] : [],
      };
    } catch {
      // the other part has the record
    }
  }
  return { distributedInfo: {}, deviceProperties: [] };
}

async function* parts(file) {
  const packed = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const gzip = packed[0] === 0x1f && packed[1] === 0x8b;
  const bytes = gzip ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  const reader = bytes.pipeThrough(new TextDecoderStream()).getReader();
  const next = () => reader.read().catch(() => ({ done: true })); // a packed file that is cut off
  for (let part = await next(); !part.done; part = await next()) yield part.value;
}

async function slim(file) {
  const events = new Events();
  const packer = new CompressionStream("gzip");
  const written = new Response(packer.readable).blob();
  const writer = packer.writable.getWriter();
  const write = (text) => writer.write(new TextEncoder().encode(text));
  let [between, tail] = ["", ""];
  await write('{"schemaVersion":1,"traceEvents":[');
  for await (const text of parts(file)) {
    if (events.ended) tail += text.slice(0, LONGEST);
    else if (!events.started && events.rest.length > LONGEST) return file;
    else {
      const some = events.take(text).filter(needed).map((event) => JSON.stringify(slimmed(event)));
      if (some.length) await write(between + some.join(",\n"));
      if (some.length) between = ",\n";
    }
  }
  if (!events.started) return file;
  const { distributedInfo, deviceProperties } = record(events.head, events.ended ? events.rest + tail : "");
  const end = `"distributedInfo":${JSON.stringify(distributedInfo)},"deviceProperties":${JSON.stringify(deviceProperties)}`;
  await write(events.ended ? `],${end}}` : "");
  await writer.close();
  const name = file.name.replace(/(\.json)?(\.gz)?$/, ".json.gz");
  return new File([await written], name, { type: "application/gzip" });
}

document.querySelectorAll("form[data-slim]").forEach((form) => {
  const [input, says] = [form.querySelector("[type=file]"), form.querySelector("[role=status]")];
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const sent = new DataTransfer();
    for (const file of input.files) {
      says.textContent = say("Making {name} slim…", { name: file.name });
      const small = await slim(file).catch(() => null);
      if (!small) says.textContent = say("{name} cannot be made slim here; nothing was sent.", { name: file.name });
      if (!small) return;
      sent.items.add(small);
    }
    input.files = sent.files;
    says.textContent = say("Sending and reading…");
    form.submit();
  });
});

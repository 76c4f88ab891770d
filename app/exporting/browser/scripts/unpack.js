// Files of the course that are compressed already: whatever the host does, they stay small.
import "./xz.js";

const { XzReadableStream } = globalThis["xz-decompress"];
const here = (name) => new URL(`../${name}`, import.meta.url); // the scripts lie in a folder

async function unpacked(name) {
  const answer = await fetch(here(name));
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return new Response(new XzReadableStream(answer.body));
}

const address = (content, type) => URL.createObjectURL(new Blob([content], { type }));

const bytes = async (name) => new Uint8Array(await (await unpacked(name)).arrayBuffer());

// Python, with the standard library that the course needs, and the archives *names* on its path; *files* names what it
// consists of.
export async function python(files, ...names) {
  const parts = Promise.all([bytes(files.glue), bytes(files.library)]);
  const compiled = WebAssembly.compileStreaming(compiledLater(files.wasm));
  // The archives arrive while Python starts.
  const archives = compiled.then(() => Promise.all(names.map((name) => bytes(files[name]))));
  const [glue, library] = await parts;
  const outside = globalThis.fetch;
  const { loadPyodide } = await import(here(files.loader));
  const { default: createPyodideModule } = await import(address(glue, "text/javascript"));
  // The loader instantiates what it gets by itself: give it the module, which is compiled once.
  const streaming = WebAssembly.instantiateStreaming;
  WebAssembly.instantiateStreaming = async (_, imports) => {
    const module = await compiled;
    return { module, instance: await WebAssembly.instantiate(module, imports) };
  };
  globalThis.fetch = (wish, init) =>
    String(wish).endsWith("pyodide.asm.wasm")
      ? Promise.resolve(new Response(new Uint8Array(), { headers: { "Content-Type": "application/wasm" } }))
      : outside(wish, init);
  const started = await loadPyodide({
    indexURL: new URL(".", import.meta.url).href,
    stdLibURL: address(library, "application/zip"),
    createPyodideModule,
    lockFileContents: files.lock,
    checkAPIVersion: false,
  });
  globalThis.fetch = outside;
  WebAssembly.instantiateStreaming = streaming;
  for (const archive of await archives) extract(started, archive);
  started.runPython('import sys; sys.path.insert(0, "/course")');
  return started;
}

async function compiledLater(name) {
  const answer = await unpacked(name);
  return new Response(answer.body, { headers: { "Content-Type": "application/wasm" } });
}

function extract(started, content) {
  started.FS.writeFile("/course.zip", content);
  started.runPython(`
import zipfile
zipfile.ZipFile("/course.zip").extractall("/course")
`);
  started.FS.unlink("/course.zip");
}

// Keeps the course on this device: what was shown once, and on request all of it, works offline.
const { version, files, pages, unpacks } = COURSE;
importScripts(unpacks);
const { XzReadableStream } = self["xz-decompress"];
const name = `wallclock ${version}`;
const scope = new URL(self.registration.scope);

self.addEventListener("install", (event) => {
  event.waitUntil(self.skipWaiting());
});

self.addEventListener("activate", (event) => {
  const others = async () => {
    for (const key of await caches.keys())
      if (key.startsWith("wallclock ") && key !== name) await caches.delete(key);
    await self.clients.claim();
  };
  event.waitUntil(others());
});

const plain = (request) => {
  const address = new URL(request.url);
  address.search = address.hash = "";
  return address.href;
};

async function kept(request) {
  const cache = await caches.open(name);
  const found = await cache.match(plain(request));
  if (found) return found;
  const answer = await fetch(request);
  if (answer.ok && !answer.redirected) await cache.put(plain(request), answer.clone());
  return answer;
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method === "GET" && request.url.startsWith(scope.href)) event.respondWith(kept(request));
});

// All of it; what this device has fetched already is not fetched again.
async function keepAll() {
  const cache = await caches.open(name);
  for (const file of files) {
    const address = new URL(file, scope).href;
    if (await cache.match(address)) continue;
    const answer = await fetch(address, { cache: "force-cache" });
    if (!answer.ok) throw new Error(address);
    await cache.put(address, answer);
  }
  const kept = new URL(pages, scope).href;
  if (await cache.match(kept)) return;
  const { body } = await fetch(kept);
  const texts = await new Response(new XzReadableStream(body)).json();
  const headers = { "Content-Type": "text/html; charset=utf-8" };
  for (const [address, text] of Object.entries(texts))
    await cache.put(new URL(address, scope).href, new Response(text, { headers }));
  await cache.put(kept, new Response()); // all pages are there
}

self.addEventListener("message", (event) => {
  if (event.data === "keep all")
    event.waitUntil(
      keepAll().then(
        () => event.source?.postMessage("kept all"),
        () => event.source?.postMessage("kept some"), // no connection: next time
      ),
    );
});

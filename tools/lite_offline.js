// Goes before JupyterLite's own service worker. It keeps the site's files, so that a second visit needs no network.
// JupyterLite's cache is off unless its address asks for it, and then forgets so when the browser restarts the worker.
// The build (tools/lite.py) writes the list of files and its version above this line.
const KEPT = `autolab-lite-${VERSION}`;
let filling; // the promise of `fill`, which runs once

self.addEventListener("activate", (event) => event.waitUntil(removeOlder()));
self.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method !== "GET" || !url.startsWith("http") || /\/api\/(drive|stdin|service-worker)/.test(url)) return;
  event.stopImmediatePropagation(); // JupyterLite's worker would answer a second time
  event.respondWith(answer(event.request));
  event.waitUntil((filling ??= fill()));
});

async function removeOlder() {
  const names = await caches.keys();
  const older = names.filter((name) => name.startsWith("autolab-lite-") && name !== KEPT);
  await Promise.all(older.map((name) => caches.delete(name)));
}

// From the cache; else from the network, and then into the cache.
async function answer(request) {
  const cache = await caches.open(KEPT);
  const kept = await cache.match(request, { ignoreSearch: true });
  if (kept) return kept;
  const found = await fetch(request);
  if (found.ok && found.type !== "opaque") await cache.put(request, found.clone());
  return found;
}

// What was loaded before this worker ran, and what a later visit may need.
async function fill() {
  const cache = await caches.open(KEPT);
  for (const file of FILES) {
    const address = new URL(file, self.registration.scope).href;
    if (!(await cache.match(address, { ignoreSearch: true }))) await cache.add(address).catch(() => {});
  }
  await cache.put(new URL("offline", self.registration.scope).href, new Response("complete"));
}

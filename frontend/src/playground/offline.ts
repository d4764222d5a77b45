// Keeps the playground for later visits without a network. The build writes the list of files and its version.
declare const FILES: string[];
declare const VERSION: string;
const worker = self as unknown as {
  addEventListener(
    kind: string,
    handler: (event: {
      request: Request;
      waitUntil(done: Promise<unknown>): void;
      respondWith(answer: Promise<Response>): void;
    }) => void,
  ): void;
  skipWaiting(): Promise<void>;
  clients: { claim(): Promise<void> };
};

worker.addEventListener("install", (event) =>
  event.waitUntil(
    caches
      .open(VERSION)
      .then((cache) => cache.addAll(FILES))
      .then(() => worker.skipWaiting()),
  ),
);
worker.addEventListener("activate", (event) =>
  event.waitUntil(
    caches
      .keys()
      .then((names) =>
        Promise.all(
          names
            .filter((name) => name.startsWith("autolab-playground-") && name !== VERSION)
            .map((name) => caches.delete(name)),
        ),
      )
      .then(() => worker.clients.claim()),
  ),
);
worker.addEventListener("fetch", (event) => {
  if (event.request.method === "GET") event.respondWith(kept(event.request));
});

/** Answer from the cache; else from the network, and keep what this site answered. */
async function kept(request: Request): Promise<Response> {
  const cache = await caches.open(VERSION);
  const found = await cache.match(request, { ignoreSearch: true });
  if (found) return found;
  const answer = await fetch(request);
  if (answer.ok && new URL(request.url).origin === location.origin) await cache.put(request, answer.clone());
  return answer;
}

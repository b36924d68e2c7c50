// The service worker: keeps the files of one release, so that the page loads without a network.
//
// `scripts/web build` writes the list FILES: SHA-256 by path, and RELEASE, the SHA-256 of the list.
// A new list makes the browser install this worker again, next to the old one. The new worker takes
// over when all pages of the old release are closed. A page thus loads files of one release only.
importScripts('files.js');

// One origin may serve several copies of the page in different folders.
const PREFIX = `zfinder ${registration.scope} `;
const CACHE = PREFIX + RELEASE;

/** Fetches all files. A file of another release fails the checksum, and the browser tries later. */
async function install() {
  const cache = await caches.open(CACHE);
  const fetchOne = async ([path, integrity]) =>
    cache.put(path, await fetch(path, { cache: 'no-cache', integrity }));
  await Promise.all(Object.entries(FILES).map(fetchOne));
}

/** Removes the files of older releases. */
async function activate() {
  const old = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
}

/** Answers from the cache. The browser may have emptied the cache. */
async function answer(path, request) {
  const cache = await caches.open(CACHE);
  return (await cache.match(path)) ?? fetch(request);
}

addEventListener('install', (event) => event.waitUntil(install()));
addEventListener('activate', (event) => event.waitUntil(activate()));
addEventListener('fetch', (event) => {
  const { origin, pathname } = new URL(event.request.url);
  const url = origin + pathname;
  if (!url.startsWith(registration.scope)) return;
  // The list has the start page as './', because some servers redirect `index.html` to it.
  const path = url.slice(registration.scope.length).replace(/^(index\.html)?$/, './');
  // The browser fetches all other files, for example the book in a folder of the page.
  if (Object.hasOwn(FILES, path)) event.respondWith(answer(path, event.request));
});

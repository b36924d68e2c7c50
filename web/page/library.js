// Sends requests to the worker, and returns its answers as promises.

/** Promises of requests without an answer, by number. */
const waiting = new Map();
let worker = startWorker();
let last = 0;
let onRestart = async () => {};

function startWorker() {
  const started = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
  started.onmessage = ({ data: { id, result, error, stopped } }) => {
    if (stopped) {
      restart(error);
      return;
    }
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) resolve(result);
    else reject(new Error(error));
  };
  // The browser could not load the worker.
  started.onerror = (event) => rejectAll(event.message || 'the library could not be loaded');
  return started;
}

function rejectAll(message) {
  for (const { reject } of waiting.values()) reject(new Error(message));
  waiting.clear();
}

/** Replaces a worker whose library stopped. Its requests fail when the new worker is ready. */
async function restart(message) {
  const stopped = [...waiting.values()];
  waiting.clear();
  worker.terminate();
  worker = startWorker();
  await onRestart();
  for (const { reject } of stopped) reject(new Error(message));
}

/** Sets an async function that prepares a new worker after each restart. */
export function whenRestarted(callback) {
  onRestart = callback;
}

/** Sends a request (see `requests` in worker.js), and returns a promise of its answer. */
export function ask(kind, request = {}) {
  last += 1;
  const id = last;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    worker.postMessage({ id, kind, ...request });
  });
}

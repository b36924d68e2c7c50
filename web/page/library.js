// Requests to the worker as promises.
const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
const waiting = new Map();
let last = 0;

worker.onmessage = ({ data: { id, result, error } }) => {
  const { resolve, reject } = waiting.get(id);
  waiting.delete(id);
  if (error === undefined) resolve(result);
  else reject(new Error(error));
};

// The worker itself could not be loaded.
worker.onerror = (event) => {
  for (const { reject } of waiting.values()) reject(new Error(event.message || 'the library could not be loaded'));
  waiting.clear();
};

export function ask(kind, request = {}, transfer = []) {
  last += 1;
  const id = last;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    worker.postMessage({ id, kind, ...request }, transfer);
  });
}

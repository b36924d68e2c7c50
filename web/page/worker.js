// Holds the library. Every request has a number and is answered with it; the CPU engine computes here, so that the page stays
// live, and the GPU engine waits here for the browser.
import init, * as zfinder from './pkg/zfinder_web.js';

const loaded = init({ module_or_path: new URL('./pkg/zfinder_web_bg.wasm', import.meta.url) });

let events = null;
let answers = null;
// The finder of the last GPU search, and what it was built for.
let onGpu = null;
let device = null;

/** What the browser says of its adapter. */
function nameOf(adapter) {
  const { vendor, architecture, device, description } = adapter.info ?? {};
  const words = [vendor, architecture, device, description].filter(Boolean);
  return words.join(' ') || 'unnamed adapter';
}

async function openDevice() {
  if (!navigator.gpu) {
    throw new Error(self.isSecureContext
      ? 'this browser has no WebGPU'
      : 'WebGPU needs a secure page: https, or http from localhost');
  }
  const adapter = await navigator.gpu.requestAdapter();
  if (!adapter) throw new Error('the browser gives no WebGPU adapter');
  const opened = await zfinder.Device.open();
  return { opened, name: nameOf(adapter), software: opened.is_software() };
}

/** The device, opened anew if the last one was lost. */
async function usableDevice() {
  if (device) {
    const last = await device.catch(() => null);
    if (last && last.opened.lost() === undefined) return last;
  }
  onGpu = null;
  device = openDevice();
  return device;
}

function take(next) {
  events = next;
  answers = null;
  const detector = events.detector();
  return { detector, rois: JSON.parse(events.rois()), layers: JSON.parse(zfinder.layers(detector)) };
}

function histogramOf(config, roi) {
  const histogram = zfinder.Histogram.of(config, events, answers, roi);
  return { low: histogram.low_mm, bin: histogram.bin_mm, weights: histogram.weights() };
}

const requests = {
  hello: () => ({ presets: JSON.parse(zfinder.presets()), detectors: JSON.parse(zfinder.detectors()) }),

  preset: ({ name }) => JSON.parse(zfinder.preset(name)),

  read({ files, detector }) {
    const chosen = new zfinder.Files();
    try {
      for (const { name, bytes } of files) chosen.add(name, new Uint8Array(bytes));
      return take(chosen.read(detector || undefined));
    } finally {
      chosen.free();
    }
  },

  simulate: ({ detector, events, seed, pileUp }) => take(zfinder.Events.simulated(detector, events, seed, pileUp)),

  search({ config, roi }) {
    const text = JSON.stringify(config);
    const finder = zfinder.Finder.on_cpu(text, events.detector());
    try {
      const start = performance.now();
      const found = finder.find(events);
      const ms = performance.now() - start;
      answers = found;
      return { ms, digest: found.digest(), ...requests.answer({ config, roi }) };
    } finally {
      finder.free();
    }
  },

  answer: ({ config, roi }) => ({
    answer: JSON.parse(answers.json(roi)),
    histogram: histogramOf(JSON.stringify(config), roi),
  }),

  event: ({ roi }) => ({ points: events.points(roi), truth: JSON.parse(events.truth(roi)) }),

  async device() {
    const { name, software } = await usableDevice();
    return { name, software };
  },

  async searchGpu({ config }) {
    const { opened } = await usableDevice();
    const [text, detector, batch] = [JSON.stringify(config), events.detector(), events];
    const start = performance.now();
    if (onGpu?.key !== detector + text) {
      onGpu?.finder.free();
      onGpu = null;
      onGpu = { key: detector + text, finder: await zfinder.Finder.on_gpu(text, detector, opened) };
    }
    const first = await onGpu.finder.find_async(batch);
    const firstMs = performance.now() - start;
    const again = performance.now();
    const second = await onGpu.finder.find_async(batch);
    const ms = performance.now() - again;
    const [digest, repeated] = [first.digest(), second.digest()];
    if (digest !== repeated) throw new Error(`two searches have different answers: ${digest} and ${repeated}`);
    return { firstMs, ms, digest };
  },

  verticesCsv: () => answers.csv(),
  spacepointsCsv: () => events.csv(),
};

self.onmessage = async ({ data: { id, kind, ...request } }) => {
  try {
    await loaded;
    self.postMessage({ id, result: await requests[kind](request) });
  } catch (error) {
    self.postMessage({ id, error: String(error?.message ?? error) });
  }
};

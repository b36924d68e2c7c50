// Runs the library in a worker: searches of the CPU engine do not block the page. Each answer has
// the number of its request.
import init, * as zfinder from './pkg/zfinder_web.js';

const loaded = init({ module_or_path: new URL('./pkg/zfinder_web_bg.wasm', import.meta.url) });

let events = null;
let answers = null;
// The finder of the last GPU search, with its detector and configuration.
let onGpu = null;
let device = null;

/** Returns the browser's description of an adapter. */
function nameOf(adapter) {
  const { vendor, architecture, device, description } = adapter.info ?? {};
  const words = [vendor, architecture, device, description].filter(Boolean);
  return words.join(' ') || 'unnamed adapter';
}

async function openDevice() {
  if (!navigator.gpu) {
    throw new Error(
      self.isSecureContext
        ? 'this browser has no WebGPU'
        : 'WebGPU needs a secure page: https, or http from localhost',
    );
  }
  const adapter = await navigator.gpu.requestAdapter();
  if (!adapter) throw new Error('the browser offers no WebGPU adapter');
  const opened = await zfinder.Device.open();
  return { opened, name: nameOf(adapter), software: opened.is_software() };
}

/** Returns the device. Opens a new device if the last one was lost. */
async function usableDevice() {
  if (device) {
    const last = await device.catch(() => null);
    if (last && last.opened.lost() === undefined) return last;
  }
  onGpu = null;
  device = openDevice();
  return device;
}

/** A trap stops the library, and leaves its memory in an undefined state. */
const isTrap = (error) => error instanceof WebAssembly.RuntimeError;

/** Runs `work` with an object of the library, and frees the object. */
function using(object, work) {
  try {
    const result = work(object);
    object.free();
    return result;
  } catch (error) {
    // After a trap the object is still borrowed, and `free` would hide the error.
    if (!isTrap(error)) object.free();
    throw error;
  }
}

function take(next) {
  events = next;
  answers = null;
  return {
    detector: events.detector(),
    rois: JSON.parse(events.rois()),
    layers: JSON.parse(zfinder.layers(events.detector_text())),
  };
}

function histogramOf(config, roi) {
  const histogram = zfinder.Histogram.of(config, events, answers, roi);
  return { low: histogram.low_mm, bin: histogram.bin_mm, weights: histogram.weights() };
}

/** Answers to all kinds of requests. */
const requests = {
  hello: () => ({
    keys: JSON.parse(zfinder.keys()),
    presets: JSON.parse(zfinder.presets()),
    detectors: JSON.parse(zfinder.detectors()),
    about: JSON.parse(zfinder.about()),
  }),

  preset: ({ name }) => JSON.parse(zfinder.preset(name)),

  detectorName: ({ file, toml }) => zfinder.detector_name(file, toml),

  read({ files, detector }) {
    return using(new zfinder.Files(), (chosen) => {
      for (const { name, bytes } of files) chosen.add(name, new Uint8Array(bytes));
      return take(chosen.read(detector || undefined));
    });
  },

  simulate: ({ detector, events, seed, pileUp }) =>
    take(zfinder.Events.simulated(detector, events, seed, pileUp)),

  search({ config, roi }) {
    const text = JSON.stringify(config);
    return using(zfinder.Finder.on_cpu(text, events.detector_text()), (finder) => {
      const start = performance.now();
      const found = finder.find(events);
      const ms = performance.now() - start;
      answers = found;
      const warning = finder.input_warning();
      return { ms, digest: found.digest(), warning, ...requests.answer({ config, roi }) };
    });
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
    const [text, detector, batch] = [JSON.stringify(config), events.detector_text(), events];
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
    if (digest !== repeated)
      throw new Error(`two searches have different answers: ${digest} and ${repeated}`);
    return { firstMs, ms, digest };
  },

  verticesCsv: () => answers.csv(),
  spacepointsCsv: () => events.csv(),
};

function answerOf(error) {
  if (!isTrap(error)) return { error: String(error?.message ?? error) };
  const reasons = 'the file is damaged, or the search needs more memory than the browser has';
  return { error: `the library stopped (${error.message}): ${reasons}`, stopped: true };
}

self.onmessage = async ({ data: { id, kind, ...request } }) => {
  try {
    await loaded;
    self.postMessage({ id, result: await requests[kind](request) });
  } catch (error) {
    self.postMessage({ id, ...answerOf(error) });
  }
};

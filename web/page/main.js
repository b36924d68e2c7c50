// The page: sends the user's events and options to the library, and shows its answers.
import { GpuSearches } from './gpu.js';
import { ask, whenRestarted } from './library.js';
import { Options } from './options.js';
import { acrossBeam, alongBeam, axes, extent, histogramPicture } from './pictures.js';
import { filesOf, SAMPLES } from './samples.js';
import { phoenix, save } from './save.js';

const by = (id) => document.getElementById(id);
const pictures = {
  histogram: histogramPicture(by('histogram')),
  rz: alongBeam(by('rz')),
  xy: acrossBeam(by('xy')),
};

/**
 * The loaded events, the event on display, and its answer. `input` is the command's name of the
 * events. `reload` reads the last choice of the user, and `request` reads the loaded events.
 */
const state = {
  events: null,
  event: null,
  found: null,
  input: '',
  reload: null,
  request: null,
  seed: 1,
};
const options = new Options(() => search());
const gpu = new GpuSearches(showGpu);

const milliseconds = (ms) => (ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`);
const count = (number, what) => `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`;
const say = (text) => {
  by('status').textContent = text;
};

/** Shows an error, or hides the last one. */
function problem(text) {
  const place = by('problem');
  place.hidden = !text;
  place.textContent = text ?? '';
  if (text) place.scrollIntoView({ block: 'nearest' });
}

/** Runs `work`, and shows its error. */
async function attempt(work) {
  try {
    await work();
  } catch (error) {
    problem(error.message);
    say(state.events ? 'The previous events are still shown.' : 'Choose a sample or a file.');
  }
}

// Events

async function load(reload) {
  await attempt(async () => {
    say('Reading…');
    // A refused file can be read again with another detector.
    state.reload = reload;
    const { request, input } = await reload();
    const events = await request(by('detector').value);
    problem(null);
    Object.assign(state, { events, input, request });
    const select = by('roi');
    select.replaceChildren(
      ...events.rois.map(({ event_id, roi_id, spacepoints }, number) => {
        const roi = roi_id === '0' ? '' : `, RoI ${roi_id}`;
        return new Option(`${event_id}${roi}: ${count(spacepoints, 'spacepoint')}`, number);
      }),
    );
    by('roi-row').hidden = events.rois.length < 2;
    await showEvent();
    await search();
  });
}

function loadSample(sample, button) {
  for (const other of by('samples').children)
    other.setAttribute('aria-pressed', String(other === button));
  return load(async () => {
    if (sample.simulation) {
      const seed = state.seed;
      state.seed += 1;
      return {
        input: 'spacepoints.csv',
        request: () => ask('simulate', { ...sample.simulation, seed }),
      };
    }
    const files = await filesOf(sample);
    return { input: sample.input, request: (detector) => ask('read', { files, detector }) };
  });
}

function loadFiles(list) {
  const chosen = [...list];
  if (chosen.length === 0) return undefined;
  for (const button of by('samples').children) button.setAttribute('aria-pressed', 'false');
  return load(async () => {
    const files = await Promise.all(
      chosen.map(async (file) => ({ name: file.name, bytes: await file.arrayBuffer() })),
    );
    const names = chosen.map((file) => file.name);
    const rois = names
      .filter((name) => /(^|-)rois\.csv/i.test(name))
      .map((name) => ` --rois ${name}`);
    const spacepoints = names.filter(
      (name) => !/(^|-)rois\.csv|truth|particles\.(csv|parquet)/i.test(name),
    );
    return {
      input: spacepoints.join(' ') + rois.join(''),
      request: (detector) => ask('read', { files, detector }),
    };
  });
}

async function showEvent() {
  const roi = Number(by('roi').value);
  state.event = await ask('event', { roi });
  const { points } = state.event;
  const { layers } = state.events;
  const [z, rho] = extent(points, axes.z, axes.rho);
  const [x, y] = extent(points, axes.x, axes.y);
  pictures.rz.data = { ...pictures.rz.data, points, layers, vertices: [], truth: [] };
  pictures.rz.show({ x0: -z, x1: z, y0: 0, y1: rho });
  pictures.xy.data = { points, layers };
  pictures.xy.show({ x0: -x, x1: x, y0: -y, y1: y });
  pictures.xy.describe(`${count(points.length / 4, 'spacepoint')} in x and y.`);
}

// Searches: one at a time. A change during a search starts one more search, with the last options.

let running = false;
let again = false;

async function search() {
  if (!state.events) return;
  again = true;
  if (running) return;
  running = true;
  while (again) {
    again = false;
    gpu.forget();
    await attempt(async () => {
      const [config, words] = [{ ...options.config }, options.arguments()];
      const found = await ask('search', { config, roi: Number(by('roi').value) });
      problem(null);
      showSearch(config, words, found);
    });
  }
  running = false;
}

function showSearch(config, words, found) {
  const { events } = state;
  state.config = config;
  const spacepoints = events.rois.reduce((sum, roi) => sum + roi.spacepoints, 0);
  by('cpu-time').textContent = milliseconds(found.ms);
  showDigest('cpu-digest', found.digest);
  showGpu({ state: gpu.available ? 'waiting…' : by('gpu-time').textContent });
  const detector = events.detector === 'atlas2010' ? '' : ` --detector ${events.detector}`;
  by('command').textContent = `zfinder find ${state.input}${detector} ${words} --digest`;
  compareNative();
  const content = `${count(events.rois.length, 'RoI')} with ${count(spacepoints, 'spacepoint')}`;
  const warning = found.warning ? ` Warning: ${found.warning}.` : '';
  const where = `in ${events.detector}, searched in ${milliseconds(found.ms)}`;
  show(found, `${content} ${where}.${warning}`);
  gpu.want(config);
}

/** Shows the answer to the RoI on display. */
function show(found, status) {
  const { answer, histogram } = found;
  const { truth } = state.event;
  state.found = found;
  const { vertices } = answer;
  const { low, bin, weights } = histogram;
  const keep =
    pictures.histogram.data.histogram.low === low && pictures.histogram.data.of === state.event;
  pictures.histogram.data = { histogram, vertices, truth, of: state.event };
  pictures.histogram.show({ x0: low, x1: low + bin * weights.length || 1, y0: 0, y1: 1 }, keep);
  pictures.rz.data = { ...pictures.rz.data, vertices, truth };
  pictures.rz.redraw();
  const places = vertices.map((vertex) => `${vertex.z_mm.toFixed(2)} mm`).join(', ') || 'none';
  pictures.histogram.describe(`Weights of pairs by z. Found vertices at ${places}.`);
  const spacepoints = count(state.event.points.length / 4, 'spacepoint');
  pictures.rz.describe(`${spacepoints} in z and rho. Found vertices at ${places}.`);
  showVertices(answer, truth);
  if (status) say(status);
}

const WORDS = {
  ok: 'Vertices were found.',
  empty: 'There is no spacepoint in the window of this RoI.',
  no_peak: 'There are spacepoints, and no peak among their pairs.',
  bad_spacepoint: 'A spacepoint is not finite, or lies on a layer that the detector does not have.',
  capacity_exceeded: 'There is more than the engine can hold: wider slices or bins may do.',
};

function showVertices({ status, vertices, fallback, outside_window }, truth) {
  const fallen = fallback ? ' By the second search, since the first found no peak.' : '';
  const unused = count(outside_window, 'spacepoint');
  const outside =
    outside_window > 0
      ? ` ${unused} outside the window or beyond the last layer took no part.`
      : '';
  by('summary').textContent = `${WORDS[status] ?? status}${fallen}${outside}`;
  const row = (vertex, number) => {
    const line = document.createElement('tr');
    const near = truth.reduce(
      (best, other) =>
        best && Math.abs(best.z_mm - vertex.z_mm) <= Math.abs(other.z_mm - vertex.z_mm)
          ? best
          : other,
      null,
    );
    const nearest = near
      ? `${near.z_mm.toFixed(3)}${near.is_hard_scatter ? ' (hard scatter)' : ''}`
      : '–';
    const significance = vertex.significance === null ? '–' : vertex.significance.toFixed(1);
    const cells = [
      number,
      vertex.z_mm.toFixed(3),
      vertex.z_error_mm.toFixed(3),
      nearest,
      Math.round(vertex.weight),
      vertex.pairs,
      significance,
    ];
    for (const [place, text] of cells.entries()) {
      const cell = document.createElement(place === 0 ? 'th' : 'td');
      if (place === 0) cell.scope = 'row';
      cell.textContent = text;
      line.append(cell);
    }
    return line;
  };
  by('vertices').tBodies[0].replaceChildren(...vertices.map(row));
}

// Engines

function showDigest(id, digest) {
  const place = by(id);
  place.dataset.digest = digest ?? '';
  place.title = digest ?? '';
  place.textContent = digest ? `${digest.slice(0, 15)}…${digest.slice(-8)}` : '–';
}

function mark(place, same) {
  place.className = same === null ? '' : same ? 'good' : 'bad';
  place.textContent =
    same === null ? '' : same ? 'as the CPU’s' : 'other than the CPU’s: please report it';
}

function showGpu({ device, state: words, ms, firstMs, digest }) {
  if (device) by('gpu-device').textContent = device;
  by('gpu-time').textContent = words ?? `${milliseconds(ms)} (first ${milliseconds(firstMs)})`;
  showDigest('gpu-digest', digest);
  mark(by('gpu-same'), digest ? digest === by('cpu-digest').dataset.digest : null);
}

function compareNative() {
  const typed = by('native').value.match(/\b[0-9a-f]{64}\b/)?.[0];
  const cpu = by('cpu-digest').dataset.digest;
  mark(by('native-same'), typed && cpu ? cpu === `sha256:${typed}` : null);
}

// Controls

let restoring = false;

/** Gives the events on display to a new worker. */
async function restore() {
  // If these events stop the library again, there is no third attempt.
  if (!state.events || restoring) return;
  restoring = true;
  await attempt(async () => {
    await state.request(state.events.detector);
    await ask('search', { config: state.config, roi: Number(by('roi').value) });
  });
  restoring = false;
}

async function takePreset() {
  const name = by('preset').value;
  options.take(name, await ask('preset', { name }));
}

function listen() {
  // Without this, choosing the same file again, after a correction, would change nothing.
  by('files').addEventListener('click', () => {
    by('files').value = '';
  });
  by('files').addEventListener('change', () => loadFiles(by('files').files));
  by('detector').addEventListener('change', () => state.reload && load(state.reload));
  by('roi').addEventListener('change', () =>
    attempt(async () => {
      await showEvent();
      show({
        ...state.found,
        ...(await ask('answer', { config: state.config, roi: Number(by('roi').value) })),
      });
    }),
  );
  for (const [id, event] of [
    ['preset', 'change'],
    ['reset', 'click'],
  ]) {
    by(id).addEventListener(event, () =>
      attempt(async () => {
        await takePreset();
        await search();
      }),
    );
  }
  by('native').addEventListener('input', compareNative);
  by('controls').addEventListener('submit', (event) => event.preventDefault());
  for (const kind of ['dragenter', 'dragover']) {
    document.addEventListener(kind, (event) => {
      event.preventDefault();
      by('drop').classList.add('over');
    });
  }
  for (const kind of ['dragleave', 'drop'])
    document.addEventListener(kind, () => by('drop').classList.remove('over'));
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    loadFiles(event.dataTransfer.files);
  });
  by('save-vertices').addEventListener('click', () =>
    attempt(async () => save('vertices.csv', await ask('verticesCsv'), 'text/csv')),
  );
  by('save-spacepoints').addEventListener('click', () =>
    attempt(async () => save('spacepoints.csv', await ask('spacepointsCsv'), 'text/csv')),
  );
  by('save-phoenix').addEventListener('click', () => {
    if (!state.found) return;
    const eventId = state.events.rois[Number(by('roi').value)].event_id;
    const { points, truth } = state.event;
    const { vertices, tracklets } = state.found.answer;
    save(
      'event.phoenix.json',
      phoenix({ eventId, points, truth, vertices, tracklets }),
      'application/json',
    );
  });
}

function sampleButtons() {
  by('samples').replaceChildren(
    ...SAMPLES.map((sample) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.setAttribute('aria-pressed', 'false');
      const detail = document.createElement('small');
      detail.textContent = sample.detail;
      button.append(sample.name, detail);
      button.addEventListener('click', () => loadSample(sample, button));
      return button;
    }),
  );
}

whenRestarted(restore);

await attempt(async () => {
  sampleButtons();
  const { keys, presets, detectors } = await ask('hello');
  options.setKeys(keys);
  by('preset').append(...presets.map((name) => new Option(name, name)));
  by('detector').append(...detectors.map((name) => new Option(name, name)));
  await takePreset();
  listen();
  await loadSample(SAMPLES[0], by('samples').firstElementChild);
});

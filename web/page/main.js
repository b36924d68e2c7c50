// The page: sends the user's events and options to the library, and shows its answers.
import { readAddress, writeAddress } from './address.js';
import { Animation } from './animation.js';
import { count, nearestTrue, sentence, showVertices, summary } from './answer.js';
import { GpuSearches } from './gpu.js';
import { ask, whenRestarted } from './library.js';
import { pairsAtVertices, trackletsAtVertices } from './lines.js';
import { Options } from './options.js';
import { acrossBeam, axes, eventPicture, extent } from './pictures.js';
import { filesOf, SAMPLES } from './samples.js';
import { phoenix, save } from './save.js';
import { explainTerms } from './terms.js';

const by = (id) => document.getElementById(id);
/** The start shows the beam within this distance of the origin, and this many barrels [mm]. */
const START = { z: 250, barrels: 4 };

/**
 * The loaded events, the event on display, and its answer. `sample` is null for the user's files.
 * `input` is the command's name of the events. `reload` reads the last files of the user, and
 * `request` reads the loaded events. `seed` is of the next simulated event.
 */
const state = {
  events: null,
  event: null,
  found: null,
  sample: null,
  input: '',
  reload: null,
  request: null,
  seed: 1,
};
const pictures = {
  event: eventPicture(by('event'), [
    ['Play', () => animation.play(), 'Play the steps of the search'],
    ['Log', (button) => setLog(button.getAttribute('aria-pressed') !== 'true')],
  ]),
  xy: acrossBeam(by('xy')),
};
const logButton = by('event').querySelector('[data-action=Log]');
const animation = new Animation((step, name) => {
  const picture = pictures.event;
  picture.data.step = step;
  picture.canvas.dataset.step = name;
  picture.redraw();
});
const options = new Options(() => search());
const gpu = new GpuSearches(showGpu);

const milliseconds = (ms) => (ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`);
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

/** Reads events. `reload` returns their name in the command, and a function that reads them. */
async function load(reload, roi = 0) {
  await attempt(async () => {
    say('Reading…');
    const { sample = null, seed, request, input } = await reload();
    const events = await request();
    problem(null);
    Object.assign(state, { events, sample, input, request, shownSeed: seed });
    const select = by('roi');
    select.replaceChildren(
      ...events.rois.map(({ event_id, roi_id, spacepoints }, number) => {
        const roi = roi_id === '0' ? '' : `, RoI ${roi_id}`;
        return new Option(`${event_id}${roi}: ${count(spacepoints, 'spacepoint')}`, number);
      }),
    );
    select.value = roi in events.rois ? roi : 0;
    by('roi-row').hidden = events.rois.length < 2;
    for (const button of by('samples').children)
      button.setAttribute('aria-pressed', String(button.value === sample?.id));
    by('sample-about').textContent = sample?.detail ?? 'Your own events.';
    await showEvent();
    await search();
  });
}

/** Loads a sample. Its detector is independent of the user's choice. */
function loadSample(sample, { seed = state.seed, roi } = {}) {
  state.reload = null;
  return load(async () => {
    if (sample.simulation) {
      state.seed = seed + 1;
      return {
        sample,
        seed,
        input: 'spacepoints.csv',
        request: () => ask('simulate', { ...sample.simulation, seed }),
      };
    }
    const files = await filesOf(sample);
    const { input, detector } = sample;
    return { sample, input, request: () => ask('read', { files, detector }) };
  }, roi);
}

/** Adds the user's detector to the list, and chooses it. */
async function addDetector(file) {
  const toml = await file.text();
  const name = await ask('detectorName', { file: file.name, toml });
  const select = by('detector');
  [...select.options].find(({ dataset }) => dataset.file === file.name)?.remove();
  const option = new Option(`${name} (${file.name})`, toml);
  option.dataset.file = file.name;
  select.append(option);
  select.value = toml;
  return name;
}

/** Takes files of the user: detectors in TOML, and events. */
async function loadFiles(list) {
  const isDetector = ({ name }) => /\.toml$/i.test(name);
  const detectors = [...list].filter(isDetector);
  const chosen = [...list].filter((file) => !isDetector(file));
  await attempt(async () => {
    for (const file of detectors) {
      const name = await addDetector(file);
      problem(null);
      say(`Your files are read with the detector ${name}. Samples keep their own.`);
    }
    if (chosen.length > 0) loadEvents(chosen);
    else if (state.reload) load(state.reload);
  });
}

function loadEvents(chosen) {
  // Refused files can be read again with another detector.
  state.reload = async () => {
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
    const detector = by('detector').value;
    return {
      input: spacepoints.join(' ') + rois.join(''),
      request: () => ask('read', { files, detector }),
    };
  };
  return load(state.reload);
}

async function showEvent() {
  const roi = Number(by('roi').value);
  state.event = await ask('event', { roi });
  const { points } = state.event;
  const { layers } = state.events;
  animation.stop();
  const [z, rho] = extent(points, axes.z, axes.rho);
  const barrels = layers.filter(({ kind }) => kind === 'barrel').map((layer) => layer.radius_mm);
  barrels.sort((a, b) => a - b);
  // The start shows the innermost barrels, or all spacepoints of a smaller detector.
  const most = Math.min(rho, 1.12 * (barrels[START.barrels - 1] ?? rho));
  const half = Math.min(z, START.z);
  const data = { points, layers, lines: [], vertices: [], truth: [], compared: null };
  for (const picture of Object.values(pictures)) Object.assign(picture.data, data);
  // The beam lies above the lower edge, with room for the vertices.
  const widest = Math.max(z / half, rho / most);
  pictures.event.show({ x0: -half, x1: half, y0: -0.07 * most, y1: most }, { widest });
  pictures.xy.show({ x0: -most, x1: most, y0: -most, y1: most }, { widest: rho / most });
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
  const own = state.sample ? undefined : by('detector').selectedOptions[0]?.dataset.file;
  const name = own ?? events.detector;
  const detector = name === 'atlas2010' ? '' : ` --detector ${name}`;
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
  const { points, truth } = state.event;
  const isFirst = state.found === null;
  state.found = found;
  const { vertices, tracklets = [] } = answer;
  const lines =
    tracklets.length > 0
      ? trackletsAtVertices(tracklets, vertices)
      : pairsAtVertices(points, vertices, {
          bin: histogram.bin,
          slice_deg: state.config.phi_slice_deg,
          first_layers: state.config.first_layers,
        });
  const compared = vertices.length > 0 ? nearestTrue(vertices[0], truth) : null;
  const words = sentence(answer, compared);
  by('answer').textContent = words;
  for (const picture of Object.values(pictures)) {
    Object.assign(picture.data, { lines, vertices, truth, compared, histogram });
    picture.describe(`${count(points.length / 4, 'spacepoint')}. ${words}`);
    picture.redraw();
  }
  by('summary').textContent = summary(answer);
  showVertices(by('vertices').tBodies[0], answer.vertices, truth);
  if (status) say(status);
  remember();
  if (isFirst) animation.play();
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
    await state.request();
    await ask('search', { config: state.config, roi: Number(by('roi').value) });
  });
  restoring = false;
}

async function takePreset(changes) {
  const select = by('preset');
  const name = select.value;
  by('preset-about').textContent = select.selectedOptions[0].dataset.about;
  options.take(name, await ask('preset', { name }), changes);
}

function setLog(log) {
  pictures.event.log = log;
  logButton.setAttribute('aria-pressed', String(log));
  pictures.event.redraw();
  remember();
}

/** Writes events and options into the address. Files of the user are not part of it. */
function remember() {
  const { sample, shownSeed } = state;
  if (!state.found) return;
  const roi = sample && Number(by('roi').value);
  writeAddress({
    sample: sample?.id,
    seed: sample?.simulation && shownSeed,
    event: roi > 0 ? roi : '',
    preset: by('preset').value,
    ...options.changes(),
    log: pictures.event.log ? 1 : '',
  });
}

/** Shows events and options of the address, or the first sample. Ignores unknown words. */
async function followAddress() {
  const { sample, seed, event, preset, log, ...changes } = readAddress();
  const words = [...by('preset').options].map(({ value }) => value);
  if (words.includes(preset)) by('preset').value = preset;
  await takePreset(changes);
  setLog(log === '1');
  const chosen = SAMPLES.find(({ id }) => id === sample) ?? SAMPLES[0];
  const numbers = { seed: Number(seed), roi: Number(event) };
  const isSeed = Number.isInteger(numbers.seed) && numbers.seed > 0 && numbers.seed < 2 ** 32;
  await loadSample(chosen, { ...numbers, seed: isSeed ? numbers.seed : undefined });
}

function listen() {
  // Without this, choosing the same file again, after a correction, would change nothing.
  by('files').addEventListener('click', () => {
    by('files').value = '';
  });
  by('files').addEventListener('change', () => loadFiles(by('files').files));
  by('detector').addEventListener('change', () => state.reload && load(state.reload));
  addEventListener('hashchange', () => {
    if (readAddress().preset) attempt(followAddress);
  });
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
      button.value = sample.id;
      button.setAttribute('aria-pressed', 'false');
      button.title = sample.detail;
      button.append(sample.name);
      button.addEventListener('click', () => loadSample(sample));
      return button;
    }),
  );
}

function presetOptions(presets) {
  by('preset').replaceChildren(
    ...presets.map(({ name, about }) => {
      const option = new Option(`${name} – ${about}`, name);
      option.dataset.about = `${about}.`;
      return option;
    }),
  );
}

/** Writes the release and the addresses of the project. */
function showProject({ version, repository, book }) {
  by('version').textContent = `zfinder ${version}`;
  by('repository').href = repository;
  by('book').href = book;
}

whenRestarted(restore);
explainTerms();
setLog(false);

await attempt(async () => {
  sampleButtons();
  const { keys, presets, detectors, about } = await ask('hello');
  options.setKeys(keys);
  presetOptions(presets);
  by('detector').append(...detectors.map((name) => new Option(name, name)));
  showProject(about);
  listen();
  await followAddress();
});

// Tests Tint, Chromium's WGSL compiler: it compiles every assembled shader, and its kernels return
// the bits of the CPU engine.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, open, serve } from './browser.mjs';

let server;
let browser;
let page;

before(async () => {
  server = await serve();
  browser = await launch();
  ({ page } = await open(browser, server.url));
  await page.evaluate(async () => {
    globalThis.zfinder = await import(new URL('pkg/zfinder_web.js', location.href));
    await globalThis.zfinder.default({ module_or_path: 'pkg/zfinder_web_bg.wasm' });
    // Entry points of all created pipelines.
    globalThis.kernels = new Set();
    const make = GPUDevice.prototype.createComputePipeline;
    GPUDevice.prototype.createComputePipeline = function createComputePipeline(descriptor) {
      globalThis.kernels.add(descriptor.compute.entryPoint);
      return make.call(this, descriptor);
    };
  });
});

after(async () => {
  await browser.close();
  server.close();
});

test('every assembled f32 shader compiles in Tint without a message', async () => {
  const { count, messages } = await page.evaluate(async () => {
    const adapter = await navigator.gpu.requestAdapter();
    const device = await adapter.requestDevice();
    const shaders = JSON.parse(globalThis.zfinder.shaders());
    const said = await Promise.all(
      shaders.map(async ([kernel, code]) => {
        const module = device.createShaderModule({ label: kernel, code });
        const { messages } = await module.getCompilationInfo();
        return messages.map(
          ({ type, lineNum, message }) => `${kernel}, line ${lineNum}: ${type}: ${message}`,
        );
      }),
    );
    device.destroy();
    return { count: shaders.length, messages: said.flat() };
  });
  console.log(`${count} shaders`);
  assert.ok(count >= 30, `${count}`);
  assert.deepEqual(messages, []);
});

/** Narrow RoIs with straight tracks from one vertex, and noise. One workgroup searches each RoI. */
function narrow() {
  let seed = 1;
  const random = (low, high) => {
    seed = (1103515245 * seed + 12345) % 2 ** 31;
    return low + (high - low) * (seed / 2 ** 31);
  };
  const radii = [50.5, 88.5, 122.5, 299, 371, 443, 514];
  const [spacepoints, rois] = [
    ['event_id,roi_id,rho,phi,z,layer'],
    ['event_id,roi_id,phi_min,phi_max'],
  ];
  for (let roi = 0; roi < 5; roi += 1) {
    const [z, phi] = [random(-80, 80), random(-2, 2)];
    rois.push(`${roi},0,${phi - 0.1},${phi + 0.1}`);
    for (let track = 0; track < 8; track += 1) {
      const [azimuth, slope] = [phi + random(-0.09, 0.09), random(-1, 1)];
      radii.forEach((rho, layer) =>
        spacepoints.push(
          `${roi},0,${rho},${azimuth},${z + slope * rho + random(-0.05, 0.05)},${layer}`,
        ),
      );
      radii.forEach((rho, layer) =>
        spacepoints.push(
          `${roi},0,${rho},${phi + random(-0.11, 0.11)},${random(-300, 300)},${layer}`,
        ),
      );
    }
  }
  return [
    ['spacepoints.csv', spacepoints.join('\n')],
    ['rois.csv', rois.join('\n')],
  ];
}

/** RoIs for different kernels: one workgroup per RoI, the stages for small and for large RoIs. */
const EVENTS = {
  few: { files: narrow(), detector: 'atlas2010' },
  small: { simulated: ['atlas2010', 4, 5, 0.2], detector: 'atlas2010' },
  large: { simulated: ['atlas2010', 1, 7, 40], detector: 'atlas2010' },
};

const CASES = [
  {
    name: 'pairs',
    preset: 'default',
    events: ['few', 'small', 'large'],
    kernels: ['walk', 'slice_spacepoints', 'find_z', 'sum_histos', 'find_peaks'],
  },
  {
    name: 'weights by pT, and a second search',
    preset: 'auto',
    events: ['small', 'large'],
    kernels: ['find_z'],
  },
  { name: 'pairs, compact', preset: 'default', compact: true, events: ['few'], kernels: ['walk'] },
  {
    name: 'confirmed pairs, compact',
    preset: 'high-pileup',
    compact: true,
    events: ['large'],
    kernels: ['slice_spacepoints', 'find_z', 'find_peaks'],
  },
  {
    name: 'a histogram of each charge',
    preset: 'egamma',
    events: ['few'],
    kernels: ['highest_windows', 'count_sums'],
  },
  {
    name: 'single neighbours',
    preset: 'thesis',
    events: ['few', 'large'],
    kernels: ['walk', 'find_z'],
  },
  {
    name: 'the thesis: pairs numbered',
    preset: 'thesis',
    slices: 28,
    events: ['few'],
    kernels: ['find_z'],
  },
];

for (const { name, preset, compact = false, slices = 0, events, kernels } of CASES) {
  test(`${name}: the answers are those of the CPU engine`, { timeout: 400_000 }, async () => {
    const { answers, seen } = await page.evaluate(
      async ({ preset, compact, slices, wanted }) => {
        const { zfinder } = globalThis;
        globalThis.kernels.clear();
        const answers = [];
        for (const [label, { files, simulated, detector }] of wanted) {
          const chosen = new zfinder.Files();
          for (const [name, text] of files ?? []) chosen.add(name, new TextEncoder().encode(text));
          const batch = files ? chosen.read(detector) : zfinder.Events.simulated(...simulated);
          const find = async (device) => {
            const finder = await zfinder.Finder.variant(
              zfinder.preset(preset),
              detector,
              device,
              compact,
              slices,
            );
            return [await finder.find_async(batch), await finder.find_async(batch)].map((found) => [
              found.digest(),
              found.csv(),
            ]);
          };
          const [[cpu]] = [await find(undefined)];
          const [gpu, again] = await find(await zfinder.Device.open());
          const vertices = cpu[1].split('\n').filter((row) => row.includes(',ok,')).length;
          answers.push({ label, vertices, cpu: cpu[0], gpu: gpu[0], again: again[0] });
        }
        return { answers, seen: [...globalThis.kernels] };
      },
      { preset, compact, slices, wanted: events.map((label) => [label, EVENTS[label]]) },
    );
    for (const { label, vertices, cpu, gpu, again } of answers) {
      assert.ok(vertices > 0, `${label}: no vertex was found`);
      assert.equal(gpu, cpu, label);
      assert.equal(again, cpu, label);
    }
    for (const kernel of kernels)
      assert.ok(seen.includes(kernel), `${kernel} was not made; there were ${seen.join(', ')}`);
  });
}

// Tests of the page as a user sees it: samples, options, engines, pictures, accessibility.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { answered, FOLDER, gpuAnswered, onlyChromium, SHOTS } from './browser.mjs';
import {
  browsers,
  COMMAND,
  native,
  nativeDigest,
  ROOT,
  saved,
  unfold,
  withGpu,
  withPage,
} from './page.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const gpu = onlyChromium('only Chromium has a software adapter for WebGPU');
test('the first sample is searched at once, and the GPU has the same bits', gpu, async () => {
  await withGpu(async (page) => {
    assert.match(await page.textContent('#status'), /3 RoIs with .* spacepoints in generic/);
    assert.ok((await page.locator('#vertices tbody tr').count()) > 0);
    assert.match(await page.textContent('#vertices tbody'), /hard scatter/);
    assert.equal(await gpuAnswered(page), 'as the CPU’s');
    assert.match(await page.textContent('#gpu-device'), /swiftshader \(software/);
    console.log('GPU (SwiftShader):', await page.textContent('#gpu-time'));
    await page.screenshot({ path: join(SHOTS, 'gpu.png'), fullPage: true });
  });
});

test('each sample loads, and has the answers of the native command', async () => {
  await withPage(async (page, first) => {
    const samples = page.locator('#samples button');
    let digest = first;
    for (let i = 0; i < (await samples.count()); i += 1) {
      if (i > 0) {
        await samples.nth(i).click();
        digest = await answered(page, digest);
      }
      const command = await page.textContent('#command');
      console.log(command, '| CPU', await page.textContent('#cpu-time'));
      assert.ok((await page.locator('#vertices tbody tr').count()) > 0, command);
      if (!COMMAND) continue;
      const folder = mkdtempSync(join(tmpdir(), 'zfinder-web-'));
      writeFileSync(join(folder, 'spacepoints.csv'), await saved(page, '#save-spacepoints'));
      const isSimulated = command.includes('spacepoints.csv');
      const fromCommand = nativeDigest(command, isSimulated ? folder : ROOT);
      assert.equal(fromCommand, digest, command);
      await page.fill('#native', `${fromCommand} of 1 RoIs`);
      assert.equal(await page.textContent('#native-same'), 'as the CPU’s');
    }
  });
});

/** Returns the names of all presets. */
const presetNames = (page) =>
  page.locator('#preset option').evaluateAll((options) => options.map(({ value }) => value));

test('every preset has the answers of the native command', native, async () => {
  await withPage(async (page, first) => {
    await page.click('#samples button:nth-child(2)');
    let digest = await answered(page, first);
    for (const preset of await presetNames(page)) {
      await page.selectOption('#preset', preset);
      await page.waitForFunction(
        (preset) => document.getElementById('command').textContent.includes(`--preset ${preset} `),
        preset,
        { timeout: 60_000 },
      );
      digest = await page.getAttribute('#cpu-digest', 'data-digest');
      assert.equal(nativeDigest(await page.textContent('#command')), digest, preset);
    }
  });
});

test('sliders and weights search again', async () => {
  await withPage(async (page, first) => {
    await page.selectOption('#preset', 'default');
    let digest = await answered(page, first);
    for (const id of ['phi_slice_deg', 'z_bin_mm', 'peaks']) {
      await page.focus(`#${id}`);
      await page.keyboard.press('PageUp');
      digest = await answered(page, digest);
    }
    await page.selectOption('#pair_weight', 'any');
    digest = await answered(page, digest);
    const command = await page.textContent('#command');
    assert.match(
      command,
      /--preset default --peaks \d+ --pair-weight any --z-bin [\d.]+ --phi-slice-deg [\d.]+ --digest/,
    );
    if (COMMAND) assert.equal(nativeDigest(command), digest);
    await page.click('#reset');
    await page.waitForFunction(
      (first) => document.getElementById('cpu-digest').dataset.digest !== first,
      digest,
    );
    assert.match(await page.textContent('#command'), /--preset default --digest/);
    // Other weights than by pT have another ranking.
    await page.selectOption('#preset', 'hard-scatter');
    await page.waitForFunction(() =>
      document.getElementById('command').textContent.includes('hard-scatter'),
    );
    await page.selectOption('#pair_weight', 'one');
    await page.waitForFunction(() =>
      document.getElementById('command').textContent.includes('--ranking entries'),
    );
    if (COMMAND)
      assert.equal(
        nativeDigest(await page.textContent('#command')),
        await page.getAttribute('#cpu-digest', 'data-digest'),
      );
  });
});

test('without WebGPU the CPU engine answers, and the page says why', async () => {
  await withPage(async (page) => {
    await page.waitForFunction(() =>
      /WebGPU/.test(document.getElementById('gpu-time').textContent),
    );
    assert.match(await page.textContent('#gpu-time'), /no WebGPU/);
    assert.match(await page.textContent('#status'), /searched in/);
  });
});

// The best search counts, because other work may slow the machine down.
test('27,000 spacepoints take little time on the CPU engine', async () => {
  await withPage(async (page) => {
    const { spacepoints, times } = await page.evaluate(async () => {
      const zfinder = await import(new URL('pkg/zfinder_web.js', location.href));
      await zfinder.default({ module_or_path: 'pkg/zfinder_web_bg.wasm' });
      const events = zfinder.Events.simulated('atlas2010', 1, 4, 110);
      const times = {};
      for (const { name } of JSON.parse(zfinder.presets())) {
        const finder = zfinder.Finder.on_cpu(zfinder.preset(name), 'atlas2010');
        times[name] = [];
        for (let i = 0; i < 10; i += 1) {
          const start = performance.now();
          finder.find(events);
          times[name].push(performance.now() - start);
        }
      }
      return { spacepoints: JSON.parse(events.rois())[0].spacepoints, times };
    });
    console.log(`${spacepoints} spacepoints: first, best of 10 [ms]`);
    for (const [name, all] of Object.entries(times))
      console.log(`  ${name}: ${all[0].toFixed(0)}, ${Math.min(...all).toFixed(0)}`);
    assert.ok(spacepoints >= 27_000, `${spacepoints}`);
    for (const name of ['auto', 'default']) {
      assert.ok(Math.min(...times[name]) < 100, `${name}: ${times[name]} ms`);
    }
  });
});

/** Returns whether a PNG has the pixels of a canvas. */
async function showsCanvas(page, selector, png) {
  return page.evaluate(
    async ([selector, text]) => {
      const canvas = document.querySelector(selector);
      const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      const image = await createImageBitmap(new Blob([bytes]));
      const copy = new OffscreenCanvas(image.width, image.height).getContext('2d');
      copy.drawImage(image, 0, 0);
      const pixels = (context, { width, height }) => context.getImageData(0, 0, width, height).data;
      const shown = pixels(canvas.getContext('2d'), canvas);
      const found = pixels(copy, image);
      const isEqual = shown.length === found.length && shown.every((byte, i) => byte === found[i]);
      return isEqual && new Set(shown).size > 10;
    },
    [selector, png.toString('base64')],
  );
}

test('the log scale changes the histogram, and the address keeps it', async () => {
  await withPage(async (page) => {
    const canvas = page.locator('#event canvas');
    const image = () => canvas.evaluate((canvas) => canvas.toDataURL());
    const linear = await image();
    await page.click('#event button:has-text("Log")');
    assert.notEqual(await image(), linear);
    assert.match(page.url(), /log=1/);
    await page.click('#event button:has-text("Log")');
    assert.equal(await image(), linear);
  });
});

test('the wheel zooms without a click, and scrolls the page at the end of the range', async () => {
  await withPage(async (page) => {
    const canvas = page.locator('#xy canvas');
    await canvas.scrollIntoViewIfNeeded();
    await canvas.hover();
    const image = () => canvas.evaluate((canvas) => canvas.toDataURL());
    const scroll = () => page.evaluate(() => scrollY);
    const [start, place] = [await image(), await scroll()];
    await page.mouse.wheel(0, -100);
    await page.waitForFunction(
      (start) => document.querySelector('#xy canvas').toDataURL() !== start,
      start,
    );
    assert.equal(await scroll(), place);
    for (let i = 0; i < 60 && (await scroll()) === place; i += 1) await page.mouse.wheel(0, 100);
    await page.waitForFunction((place) => scrollY > place, place);
  });
});

test('terms are explained by the mouse and by the keyboard', async () => {
  await withPage(
    async (page) => {
      const tip = page.locator('#tip');
      const term = page.locator('header .term').first();
      assert.ok(await tip.isHidden());
      await term.focus();
      assert.match(await tip.textContent(), /^Two hits on different layers/);
      const { x, y, width, height } = await tip.boundingBox();
      const window = page.viewportSize();
      assert.ok(x >= 0 && x + width <= window.width && y + height <= window.height);
      await page.keyboard.press('Escape');
      assert.ok(await tip.isHidden());
      await page.hover('header .term >> nth=1');
      assert.match(await tip.textContent(), /^The axis z/);
      await page.mouse.move(600, 500);
      assert.ok(await tip.isHidden());
      const missing = await page.evaluate(() =>
        [...document.querySelectorAll('.term')]
          .map((term) => term.getAttribute('aria-describedby'))
          .filter((id) => !document.getElementById(id)?.textContent.trim()),
      );
      assert.deepEqual(missing, []);
    },
    { folded: true },
  );
});

test('each preset has a line, and the project has links', async () => {
  await withPage(async (page, first) => {
    const lines = await page.locator('#preset option').allTextContents();
    assert.ok(lines.length >= 10);
    for (const line of lines) assert.match(line, /^[a-z-]+ – \S+ \S+/);
    await page.selectOption('#preset', 'jet');
    await answered(page, first);
    assert.match(await page.textContent('#preset-about'), /^For jets: .*\.$/);
    for (const id of ['repository', 'book'])
      assert.match(await page.getAttribute(`#${id}`, 'href'), /^https:\/\/\S+zfinder/);
  });
});

test('pictures are zoomed by keys, pointed at, and saved', async () => {
  await withPage(async (page) => {
    for (const picture of ['event', 'xy']) {
      const canvas = page.locator(`#${picture} canvas`);
      const image = () => canvas.evaluate((canvas) => canvas.toDataURL());
      const seen = new Set([await image()]);
      await canvas.focus();
      for (const key of ['+', 'ArrowRight', '-']) {
        await page.keyboard.press(key);
        seen.add(await image());
      }
      assert.equal(seen.size, 4, picture);
      await page.keyboard.press('0');
      assert.ok(seen.has(await image()), picture);
      const png = await saved(page, `#${picture} button:has-text("PNG")`);
      assert.ok(await showsCanvas(page, `#${picture} canvas`, png), picture);
      // Zoomed out, the picture shows all spacepoints.
      await canvas.focus();
      for (let i = 0; i < 25; i += 1) await page.keyboard.press('-');
      const svg = (await saved(page, `#${picture} button:has-text("SVG")`)).toString();
      const broken = await page.evaluate(
        (svg) =>
          new DOMParser().parseFromString(svg, 'image/svg+xml').querySelector('parsererror') !==
          null,
        svg,
      );
      assert.ok(!broken && svg.length > 2000, picture);
      const event = await page.textContent('#roi option:checked');
      const points = Number(event.match(/([\d,]+) spacepoints/)[1].replace(',', ''));
      assert.equal(svg.match(/h2\.5v2\.5h-2\.5Z/g).length, points, picture);
      await page.click(`#${picture} button:has-text("Reset")`);
    }
    const { width, height } = await page.locator('#event canvas').boundingBox();
    await page.hover('#event canvas', { position: { x: width / 2, y: 0.8 * height } });
    assert.match(await page.textContent('#event .hover'), /z from .* mm: weight \d+/);
  });
});

const shapes = onlyChromium('Playwright emulates no phone and no dark scheme in this Firefox');
const SHAPES = {
  laptop: { viewport: { width: 1366, height: 768 } },
  phone: {
    viewport: { width: 390, height: 844 },
    deviceScaleFactor: 2,
    isMobile: true,
    hasTouch: true,
  },
};

/** Calls `work` with a page of each shape and colour scheme, without opened folds. */
async function inAllShapes(work) {
  for (const [shape, view] of Object.entries(SHAPES)) {
    for (const colorScheme of ['light', 'dark']) {
      await withPage((page, first) => work(page, first, `${shape}-${colorScheme}`), {
        ...view,
        colorScheme,
        folded: true,
      });
    }
  }
}

test('the first screen has the sentence, the answer, the picture and its legend', shapes, async () => {
  await inAllShapes(async (page, first, name) => {
    const text = await page.textContent('header p');
    assert.equal(
      text.trim().replace(/\s+/g, ' '),
      'Each pair of hits points at the beam; where most point, the collision was.',
    );
    assert.match(
      await page.textContent('#answer'),
      /^Found z = -?\d+\.\d+ mm.*, true z = -?\d+\.\d+ mm: .*\d mm apart\.$/,
    );
    for (const place of ['header p', '#answer', '#event canvas', '#event .legend']) {
      const { x, y, width, height } = await page.locator(place).boundingBox();
      const window = page.viewportSize();
      const inside = x >= 0 && y >= 0 && x + width <= window.width && y + height <= window.height;
      assert.ok(inside, `${place} of ${name}: ${[x, y, width, height]}`);
    }
    await page.screenshot({ path: join(SHOTS, `${name}.png`) });
  });
});

test('the sentence names the vertex that is right, if the first is not', async () => {
  await withPage(async (page, first) => {
    await page.selectOption('#preset', 'full-scan');
    await answered(page, first);
    assert.match(await page.textContent('#answer'), /mm apart\. Vertex 1 is the true one\.$/);
  });
});

test('axe finds no fault, light and dark, wide and narrow', shapes, async () => {
  await inAllShapes(async (page, first, name) => {
    await page.click('#samples button:nth-child(2)');
    await answered(page, first);
    await page.evaluate(AXE);
    for (const folded of [true, false]) {
      if (!folded) await unfold(page);
      const { violations, passes } = await page.evaluate(() =>
        globalThis.axe.run(document, {
          runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
        }),
      );
      assert.deepEqual(
        violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]),
        [],
        name,
      );
      assert.ok(passes.length > 20, `${passes.length} rules apply`);
      // A phone's `innerWidth` grows with the page.
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= page.viewportSize().width, `the page is ${width} pixels wide`);
    }
    await page.screenshot({ path: join(SHOTS, `${name}-open.png`), fullPage: true });
  });
});

test('the page explains that it needs a file server', async () => {
  const page = await browsers.plain.newPage();
  await page.goto(`file://${join(FOLDER, 'index.html')}`);
  assert.match(await page.textContent('#status'), /file server/);
  await page.close();
});

test('the page is small', () => {
  const files = readdirSync(FOLDER, { recursive: true })
    .map((name) => join(FOLDER, name))
    .filter((path) => statSync(path).isFile());
  const bytes = files.reduce(
    (sum, path) => sum + gzipSync(readFileSync(path), { level: 9 }).length,
    0,
  );
  console.log(`${(bytes / 1e6).toFixed(2)} MB compressed, samples included`);
  assert.ok(bytes < 3e6, `${bytes}`);
});

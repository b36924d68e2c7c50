// The page as a user has it: samples, files, sliders, what goes wrong, pictures, and access by keyboard and screen reader.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { answered, FOLDER, gpuAnswered, launch, open, serve, SHOTS } from './browser.mjs';

const ROOT = new URL('../..', import.meta.url).pathname;
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** The command; without it (`scripts/test-web --light`), what it is compared with is left out. */
const COMMAND = process.env.ZFINDER_COMMAND;
const native = { skip: COMMAND ? false : 'the command was not built: --light' };

let server;
let browser;
/** The same without WebGPU: compiling for SwiftShader takes both cores for seconds, and most tests are not about the GPU. */
let plain;

before(async () => {
  mkdirSync(SHOTS, { recursive: true });
  server = await serve();
  [browser, plain] = await Promise.all([launch(), launch({ webgpu: false })]);
});

after(async () => {
  await Promise.all([browser.close(), plain.close()]);
  server.close();
});

/** Opens the page, waits for the first sample, and demands that the console had no error. */
async function withPage(work, { on = plain, ...options } = {}) {
  const opened = await open(on, server.url, options);
  try {
    const digest = await answered(opened.page);
    await work(opened.page, digest);
    assert.deepEqual(opened.errors, []);
  } finally {
    await opened.close();
  }
}

/** Runs the command that the page says, in this folder, and returns the digest. */
function nativeDigest(text, folder = ROOT) {
  const said = execFileSync('bash', ['-c', `"$ZFINDER_COMMAND" ${text.replace(/^zfinder /, '')} --engine cpu --format csv 2>&1`], { cwd: folder });
  return said.toString().match(/sha256:[0-9a-f]{64}/)[0];
}

/** What a button saves. */
async function saved(page, selector) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click(selector)]);
  return readFileSync(await download.path());
}

async function drop(page, name, bytes) {
  const data = await page.evaluateHandle(([name, text]) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], name));
    return transfer;
  }, [name, Buffer.from(bytes).toString('base64')]);
  await page.dispatchEvent('#drop', 'drop', { dataTransfer: data });
}

const problem = async (page) => {
  await page.waitForSelector('#problem:not([hidden])');
  return page.textContent('#problem');
};

test('the first sample is searched at once, and the GPU has the same bits', async () => {
  await withPage(async (page) => {
    assert.match(await page.textContent('#status'), /3 RoIs with .* spacepoints in generic/);
    assert.ok(await page.locator('#vertices tbody tr').count() > 0);
    assert.match(await page.textContent('#vertices tbody'), /hard scatter/);
    assert.equal(await gpuAnswered(page), 'as the CPU’s');
    assert.match(await page.textContent('#gpu-device'), /swiftshader \(software/);
    console.log('GPU (SwiftShader):', await page.textContent('#gpu-time'));
    await page.screenshot({ path: join(SHOTS, 'gpu.png'), fullPage: true });
  }, { on: browser });
});

test('each sample has the answers of the native command', native, async () => {
  await withPage(async (page, first) => {
    const samples = page.locator('#samples button');
    let digest = first;
    for (let i = 0; i < await samples.count(); i += 1) {
      if (i > 0) {
        await samples.nth(i).click();
        digest = await answered(page, digest);
      }
      const folder = mkdtempSync(join(tmpdir(), 'zfinder-web-'));
      writeFileSync(join(folder, 'spacepoints.csv'), await saved(page, '#save-spacepoints'));
      const command = await page.textContent('#command');
      const isSimulated = command.includes('spacepoints.csv');
      assert.equal(nativeDigest(command, isSimulated ? folder : ROOT), digest, command);
      await page.fill('#native', `${nativeDigest(command, isSimulated ? folder : ROOT)} of 1 RoIs`);
      assert.equal(await page.textContent('#native-same'), 'as the CPU’s');
      console.log(command, '| CPU', await page.textContent('#cpu-time'));
    }
  });
});

test('every preset has the answers of the native command', native, async () => {
  await withPage(async (page, first) => {
    await page.click('#samples button:nth-child(2)');
    let digest = await answered(page, first);
    for (const preset of await page.locator('#preset option').allTextContents()) {
      await page.selectOption('#preset', preset);
      await page.waitForFunction((preset) => document.getElementById('command').textContent.includes(`--preset ${preset} `), preset, { timeout: 60_000 });
      digest = await page.getAttribute('#cpu-digest', 'data-digest');
      assert.equal(nativeDigest(await page.textContent('#command')), digest, preset);
    }
  });
});

test('sliders and triplets search again', async () => {
  await withPage(async (page, first) => {
    await page.selectOption('#preset', 'default');
    let digest = await answered(page, first);
    for (const id of ['phi_slice_deg', 'z_bin_mm', 'peaks']) {
      await page.focus(`#${id}`);
      await page.keyboard.press('PageUp');
      digest = await answered(page, digest);
    }
    await page.selectOption('#triplets', 'any');
    digest = await answered(page, digest);
    const command = await page.textContent('#command');
    assert.match(command, /--preset default --phi-slice-deg [\d.]+ --z-bin [\d.]+ --triplets any --peaks \d+ --digest/);
    if (COMMAND) assert.equal(nativeDigest(command), digest);
    await page.click('#reset');
    await page.waitForFunction((first) => document.getElementById('cpu-digest').dataset.digest !== first, digest);
    assert.match(await page.textContent('#command'), /--preset default --digest/);
    // The preset weighs by pT, and then there is nothing to choose of triplets.
    await page.selectOption('#preset', 'hard-scatter');
    await page.waitForFunction(() => document.getElementById('command').textContent.includes('hard-scatter'));
    await page.selectOption('#triplets', 'off');
    await page.waitForFunction(() => document.getElementById('command').textContent.includes('--weighting count'));
    if (COMMAND) assert.equal(nativeDigest(await page.textContent('#command')), await page.getAttribute('#cpu-digest', 'data-digest'));
  });
});

test('a file is dropped, with truth; one is chosen', async () => {
  await withPage(async (page, first) => {
    const folder = join(ROOT, 'data/tt14_mu46');
    const start = Date.now();
    await page.setInputFiles('#files', ['event000000002-spacepoint.csv.gz', 'truth_vertices.csv'].map((name) => join(folder, name)));
    const second = await answered(page, first);
    const took = Date.now() - start;
    console.log(`25,172 spacepoints from the choice of a file to its picture: ${took} ms`);
    assert.ok(took < 10_000, `${took} ms, and the aim is 2000`);
    assert.match(await page.textContent('#vertices tbody'), /hard scatter/);
    await drop(page, 'event000000008-spacepoint.csv.gz', readFileSync(join(ROOT, 'data/zee7_mu2/event000000008-spacepoint.csv.gz')));
    await answered(page, second);
    assert.match(await page.textContent('#status'), /1 RoI /);
    assert.match(await page.textContent('#command'), /find event000000008-spacepoint.csv.gz --detector generic/);
    assert.doesNotMatch(await page.textContent('#vertices tbody'), /hard scatter/);
    // RoIs with windows of their own.
    await page.setInputFiles('#files', ['rois.csv', 'spacepoints.csv', 'truth_vertices.csv'].map((name) => join(ROOT, 'data/rois', name)));
    // They are of another detector than files with a column `layer` usually are.
    assert.match(await problem(page), /spacepoints\.csv, row \d+, column layer: /);
    await page.selectOption('#detector', 'generic');
    await page.waitForFunction(() => document.getElementById('status').textContent.startsWith('12 RoIs'));
    assert.ok(await page.isHidden('#problem'));
    await page.selectOption('#roi', '5');
    await page.waitForFunction(() => document.getElementById('summary').textContent.includes('took no part'));
    if (COMMAND) {
      const command = await page.textContent('#command');
      assert.equal(nativeDigest(command, join(ROOT, 'data/rois')), await page.getAttribute('#cpu-digest', 'data-digest'), command);
    }
  });
});

test('a wrong file is refused in words that help, and the events before stay', async () => {
  await withPage(async (page, first) => {
    const wrong = [
      ['event1.csv', 'x,y,z,layer\n30,40,5,0\n30,4o,5,1\n', /event1\.csv, row 3, column y: .*4o.*[\s\S]*The row reads: 30,4o,5,1/],
      ['event1.csv', 'a,b,c\n1,2,3\n', /row 1: missing columns `x`/],
      ['event1.csv', 'x,y,z,layer\n', /no spacepoint/],
      ['picture.png', Buffer.from([137, 80, 78, 71, 13, 10, 26, 10, 0, 0]), /picture\.png, row 1: missing columns/],
      ['cut.csv.gz', gzipSync(`x,y,z,layer\n${'30,40,5,0\n'.repeat(99)}`).subarray(0, 40), /cut\.csv\.gz: gzip data ends too early/],
      ['truth_vertices.csv', 'event,vz_mm,is_hard_scatter\n0,1,1\n', /no file of spacepoints/],
      ['big.parquet', 'PAR1....PAR1', /CSV/],
    ];
    for (const [name, content, words] of wrong) {
      await page.evaluate(() => { document.getElementById('problem').hidden = true; });
      await drop(page, name, Buffer.from(content));
      assert.match(await problem(page), words);
      assert.match(await page.textContent('#status'), /still shown/);
    }
    assert.equal(await page.getAttribute('#cpu-digest', 'data-digest'), first);
    // A right file afterwards is read.
    await drop(page, 'event7.csv', Buffer.from('x,y,z,layer\n30,40,5,0\n'));
    await answered(page, first);
    assert.ok(await page.isHidden('#problem'));
    assert.match(await page.textContent('#summary'), /no peak/);
  });
});

test('without WebGPU the CPU engine answers, and the page says why', async () => {
  await withPage(async (page) => {
    await page.waitForFunction(() => /WebGPU/.test(document.getElementById('gpu-time').textContent));
    assert.match(await page.textContent('#gpu-time'), /no WebGPU/);
    assert.match(await page.textContent('#status'), /searched in/);
  });
});

// Times are for the reader: 100 ms is the aim. What fails here is a build that lost its vectors, on cores however busy.
test('27,000 spacepoints take little time on the CPU engine', async () => {
  await withPage(async (page) => {
    const { spacepoints, times } = await page.evaluate(async () => {
      const zfinder = await import(new URL('pkg/zfinder_web.js', location.href));
      await zfinder.default({ module_or_path: 'pkg/zfinder_web_bg.wasm' });
      const events = zfinder.Events.simulated('atlas2010', 1, 4, 110);
      const times = {};
      for (const name of JSON.parse(zfinder.presets())) {
        const finder = zfinder.Finder.on_cpu(zfinder.preset(name), 'atlas2010');
        times[name] = [];
        for (let i = 0; i < 5; i += 1) {
          const start = performance.now();
          finder.find(events);
          times[name].push(performance.now() - start);
        }
      }
      return { spacepoints: JSON.parse(events.rois())[0].spacepoints, times };
    });
    console.log(`${spacepoints} spacepoints: first, best of 5 [ms]`);
    for (const [name, all] of Object.entries(times)) console.log(`  ${name}: ${all[0].toFixed(0)}, ${Math.min(...all).toFixed(0)}`);
    assert.ok(spacepoints >= 27_000, `${spacepoints}`);
    assert.ok(Math.min(...times.auto) < 1000 && Math.min(...times.default) < 1000);
  });
});

test('pictures are zoomed by keys, pointed at, and saved', async () => {
  await withPage(async (page) => {
    for (const picture of ['histogram', 'rz', 'xy']) {
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
      assert.deepEqual([...png.subarray(1, 4)], [...Buffer.from('PNG')]);
      const svg = (await saved(page, `#${picture} button:has-text("SVG")`)).toString();
      const broken = await page.evaluate((svg) => new DOMParser().parseFromString(svg, 'image/svg+xml').querySelector('parsererror') !== null, svg);
      assert.ok(!broken && svg.length > 2000, picture);
    }
    await page.hover('#histogram canvas');
    assert.match(await page.textContent('#histogram .hover'), /z from .* mm: weight \d+/);
  });
});

test('vertices and events are saved in formats that others read', async () => {
  await withPage(async (page) => {
    const vertices = (await saved(page, '#save-vertices')).toString();
    assert.match(vertices, /^event_id,roi_id,vertex,z_mm,/);
    if (COMMAND) {
      const command = (await page.textContent('#command')).replace(/^zfinder /, '');
      const csv = execFileSync('bash', ['-c', `"$ZFINDER_COMMAND" ${command} --engine cpu --format csv -q 2>/dev/null`], { cwd: ROOT }).toString();
      assert.equal(vertices, csv);
    }
    const event = JSON.parse(await saved(page, '#save-phoenix'));
    const [{ 'event number': number, Hits, Vertices }] = Object.values(event);
    assert.equal(number, 0);
    assert.ok(Hits.Spacepoints.length > 500 && Hits.Spacepoints.every((hit) => hit.length === 3 && hit.every(Number.isFinite)));
    assert.ok(Vertices.zfinder.length > 0 && Vertices.Truth.length > 0);
  });
});

test('axe finds no fault, light and dark, wide and narrow', async () => {
  const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
  for (const [shape, view] of [['desktop', {}], ['phone', phone]]) {
    for (const colorScheme of ['light', 'dark']) {
      await withPage(async (page, first) => {
        await page.click('#samples button:nth-child(2)');
        await answered(page, first);
        await page.evaluate(AXE);
        const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
        assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]), []);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `the page is ${wide} pixels too wide`);
        await page.screenshot({ path: join(SHOTS, `${shape}-${colorScheme}.png`), fullPage: true });
      }, { ...view, colorScheme });
    }
  }
});

test('opened as a file, the page says what it wants', async () => {
  const page = await plain.newPage();
  await page.goto(`file://${join(FOLDER, 'index.html')}`);
  assert.match(await page.textContent('#status'), /file server/);
  await page.close();
});

test('the page is small', () => {
  const files = readdirSync(FOLDER, { recursive: true }).map((name) => join(FOLDER, name)).filter((path) => statSync(path).isFile());
  const bytes = files.reduce((sum, path) => sum + gzipSync(readFileSync(path), { level: 9 }).length, 0);
  console.log(`${(bytes / 1e6).toFixed(2)} MB compressed, samples included`);
  assert.ok(bytes < 3e6, `${bytes}`);
});

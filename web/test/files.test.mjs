// Tests of files: chosen, dropped, invalid, saved.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { answered } from './browser.mjs';
import { COMMAND, drop, native, nativeDigest, problem, ROOT, saved, withPage } from './page.mjs';

test('a file is dropped, with truth; one is chosen', async () => {
  await withPage(async (page, first) => {
    const folder = join(ROOT, 'data/tt14_mu46');
    const start = Date.now();
    await page.setInputFiles(
      '#files',
      ['event000000002-spacepoint.csv.gz', 'truth_vertices.csv'].map((name) => join(folder, name)),
    );
    const second = await answered(page, first);
    const took = Date.now() - start;
    console.log(`25,172 spacepoints from the choice of a file to its picture: ${took} ms`);
    assert.ok(took < 2000, `${took} ms`);
    assert.match(await page.textContent('#vertices tbody'), /hard scatter/);
    await drop(
      page,
      'event000000008-spacepoint.csv.gz',
      readFileSync(join(ROOT, 'data/zee7_mu2/event000000008-spacepoint.csv.gz')),
    );
    await answered(page, second);
    assert.match(await page.textContent('#status'), /1 RoI /);
    assert.match(
      await page.textContent('#command'),
      /find event000000008-spacepoint.csv.gz --detector generic/,
    );
    assert.doesNotMatch(await page.textContent('#vertices tbody'), /hard scatter/);
    // RoIs with windows.
    await page.setInputFiles(
      '#files',
      ['rois.csv', 'spacepoints.csv', 'truth_vertices.csv'].map((name) =>
        join(ROOT, 'data/rois', name),
      ),
    );
    // A column `layer` usually means another detector.
    assert.match(await problem(page), /spacepoints\.csv, row \d+, column layer: /);
    await page.selectOption('#detector', 'generic');
    await page.waitForFunction(() =>
      document.getElementById('status').textContent.startsWith('12 RoIs'),
    );
    assert.ok(await page.isHidden('#problem'));
    await page.selectOption('#roi', '5');
    await page.waitForFunction(() =>
      document.getElementById('summary').textContent.includes('took no part'),
    );
    if (COMMAND) {
      const command = await page.textContent('#command');
      assert.equal(
        nativeDigest(command, join(ROOT, 'data/rois')),
        await page.getAttribute('#cpu-digest', 'data-digest'),
        command,
      );
    }
  });
});

test('a dropped detector is used for files, and samples keep their own', async () => {
  await withPage(async (page, first) => {
    const toml = readFileSync(join(ROOT, 'data/detectors/generic.toml'), 'utf8').replace(
      /^name = .*$/m,
      'name = "copy"',
    );
    const status = () => page.textContent('#status');
    await drop(page, 'mine.toml', Buffer.from(toml));
    await page.waitForFunction(() => document.getElementById('detector').value !== '');
    assert.match(await status(), /detector copy\. Samples keep their own/);
    assert.equal(await page.textContent('#detector option:checked'), 'copy (mine.toml)');
    // The sample on display keeps its detector.
    await page.selectOption('#preset', 'full-scan');
    const generic = await answered(page, first);
    assert.match(await status(), /in generic,/);
    // The same file of spacepoints has the same answers in both detectors.
    const folder = join(ROOT, 'data/zee7_mu2');
    const files = [0, 1, 2].map((n) => join(folder, `event00000000${n}-spacepoint.csv.gz`));
    await page.setInputFiles('#files', [...files, join(folder, 'truth_vertices.csv')]);
    await page.waitForFunction(() => /in copy,/.test(document.getElementById('status').textContent));
    assert.equal(await page.getAttribute('#cpu-digest', 'data-digest'), generic);
    assert.match(await page.textContent('#command'), / --detector mine\.toml /);
    assert.match(await page.textContent('#sample-about'), /Your own events/);
    // A detector that fits no sample.
    await page.selectOption('#detector', 'atlas2010');
    await page.click('#samples button:nth-child(2)');
    await page.waitForFunction(() => /25,172/.test(document.getElementById('status').textContent));
    assert.match(await status(), /in generic,/);
    assert.ok(await page.isHidden('#problem'));
    await drop(page, 'wrong.toml', Buffer.from('name = "x"\n[[layer]]\nkind = "barrel"\n'));
    assert.match(await problem(page), /wrong\.toml[\s\S]*radius_mm/);
  });
});

/** Loads files, and returns the digest of their answers. */
async function digestOf(page, ...files) {
  await page.setInputFiles('#files', files);
  const name = basename(files[0]);
  await page.waitForFunction(
    (name) => document.getElementById('command').textContent.includes(name),
    name,
  );
  return page.getAttribute('#cpu-digest', 'data-digest');
}

/** Files with the same spacepoints. `simulated` is of `zfinder simulate`: lists, in zstd. */
const PARQUET = [
  ['rows-plain', 'rows-snappy', 'rows-gzip', 'rows-lz4', 'rows-zstd', 'rows-delta', 'rows-groups'],
  ['lists', 'lists-snappy'],
  ['simulated'],
];

test('Parquet is read in all codecs and layouts, and as CSV', async () => {
  const corpus = join(ROOT, 'fuzz/corpus/parquet');
  await withPage(async (page) => {
    await page.selectOption('#preset', 'full-scan');
    for (const names of PARQUET) {
      const digests = new Set();
      for (const name of names) {
        const digest = await digestOf(page, join(corpus, `${name}.parquet`));
        digests.add(digest);
        assert.match(await page.textContent('#vertices tbody'), /\d/, name);
        if (COMMAND)
          assert.equal(nativeDigest(await page.textContent('#command'), corpus), digest, name);
      }
      assert.equal(digests.size, 1, names.join(', '));
    }
    const parquet = await page.getAttribute('#cpu-digest', 'data-digest');
    const csv = join(mkdtempSync(join(tmpdir(), 'zfinder-web-')), 'simulated.csv');
    writeFileSync(csv, await saved(page, '#save-spacepoints'));
    assert.equal(await digestOf(page, csv), parquet);
  });
});

test('the library starts again after a damaged file stopped it', async () => {
  await withPage(async (page, first) => {
    await page.setInputFiles('#files', join(ROOT, 'fuzz/corpus/parquet/no-dictionary.parquet'));
    assert.match(await problem(page), /the library stopped .*the file is damaged/);
    assert.match(await page.textContent('#status'), /still shown/);
    // The new library has the previous events.
    const vertices = (await saved(page, '#save-vertices')).toString();
    assert.match(vertices, /^event_id,roi_id,vertex,z_mm,/);
    await page.selectOption('#preset', 'full-scan');
    await answered(page, first);
    assert.ok(await page.isHidden('#problem'));
  });
});

test('Parquet of the native command, with its truth, has its answers', native, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'zfinder-web-'));
  const simulate = [
    'simulate',
    '-q',
    '--rois',
    '40',
    '--seed',
    '3',
    '-o',
    'events.parquet',
    '--truth',
    'truth.csv',
  ];
  execFileSync(COMMAND, simulate, { cwd: folder });
  await withPage(async (page) => {
    const files = ['events.parquet', 'truth.csv'].map((name) => join(folder, name));
    let digest = await digestOf(page, ...files);
    assert.match(await page.textContent('#status'), /^40 RoIs /);
    assert.match(await page.textContent('#vertices tbody'), /hard scatter/);
    assert.equal(nativeDigest(await page.textContent('#command'), folder), digest);
    // ColliderML's layout: a row with lists for each event, and particles as truth.
    const colliderml = process.env.ZFINDER_SHARED ?? join(ROOT, '../shared');
    const hits = join(colliderml, 'data/formats/colliderml/zee7_mu2_tracker_hits.parquet');
    if (!existsSync(hits)) {
      console.log('skipped: ZFINDER_SHARED has no file of ColliderML');
      return;
    }
    digest = await digestOf(page, hits, hits.replace('tracker_hits', 'particles'));
    assert.match(await page.textContent('#vertices tbody'), /hard scatter/);
    const command = (await page.textContent('#command')).replace(
      'zee7_mu2_tracker_hits.parquet',
      hits,
    );
    assert.equal(nativeDigest(command), digest, command);
  });
});

test('an invalid file has a clear error, and the previous events stay', async () => {
  await withPage(async (page, first) => {
    const wrong = [
      [
        'event1.csv',
        'x,y,z,layer\n30,40,5,0\n30,4o,5,1\n',
        /event1\.csv, row 3, column y: .*4o.*[\s\S]*The row reads: 30,4o,5,1/,
      ],
      ['event1.csv', 'a,b,c\n1,2,3\n', /row 1: missing columns `x`/],
      ['event1.csv', 'x,y,z,layer\n', /no spacepoint/],
      [
        'picture.png',
        Buffer.from([137, 80, 78, 71, 13, 10, 26, 10, 0, 0]),
        /picture\.png: this is a picture: write its data as CSV/,
      ],
      [
        'cut.csv.gz',
        gzipSync(`x,y,z,layer\n${'30,40,5,0\n'.repeat(99)}`).subarray(0, 40),
        /cut\.csv\.gz: compressed data ends too early/,
      ],
      ['truth_vertices.csv', 'event,vz_mm,is_hard_scatter\n0,1,1\n', /no file of spacepoints/],
      ['big.parquet', 'PAR1....PAR1', /big\.parquet: this is no Parquet file, or a damaged one/],
      ['run.root', 'root....', /run\.root: this is a ROOT file, .*`zfinder find run\.root`.*CSV or Parquet/],
    ];
    for (const [name, content, words] of wrong) {
      await page.evaluate(() => {
        document.getElementById('problem').hidden = true;
      });
      // The error must be visible to a user who looks at the end of the page.
      await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
      await drop(page, name, Buffer.from(content));
      assert.match(await problem(page), words);
      const { y, height } = await page.locator('#problem').boundingBox();
      // Scrolling rounds to pixels.
      assert.ok(y > -1 && y + height <= page.viewportSize().height, `${name}: at ${y}`);
      assert.match(await page.textContent('#status'), /still shown/);
    }
    assert.equal(await page.getAttribute('#cpu-digest', 'data-digest'), first);
    // A valid file is read afterwards.
    await drop(page, 'event7.csv', Buffer.from('x,y,z,layer\n30,40,5,0\n'));
    await answered(page, first);
    assert.ok(await page.isHidden('#problem'));
    assert.match(await page.textContent('#summary'), /no peak/);
  });
});

test('vertices and events are saved in formats that others read', async () => {
  await withPage(async (page) => {
    const vertices = (await saved(page, '#save-vertices')).toString();
    assert.match(vertices, /^event_id,roi_id,vertex,z_mm,/);
    if (COMMAND) {
      const command = (await page.textContent('#command')).replace(/^zfinder /, '');
      const csv = execFileSync(
        'bash',
        ['-c', `"$ZFINDER_COMMAND" ${command} --engine cpu --format csv -q 2>/dev/null`],
        { cwd: ROOT },
      ).toString();
      assert.equal(vertices, csv);
    }
    const event = JSON.parse(await saved(page, '#save-phoenix'));
    const [{ 'event number': number, Hits, Vertices }] = Object.values(event);
    assert.equal(number, 0);
    assert.ok(
      Hits.Spacepoints.length > 500 &&
        Hits.Spacepoints.every((hit) => hit.length === 3 && hit.every(Number.isFinite)),
    );
    assert.ok(Vertices.zfinder.length > 0 && Vertices.Truth.length > 0);
  });
});

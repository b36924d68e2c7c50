// Tests of the page's address, of the animation, and of all vertices.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered } from './browser.mjs';
import { saved, withPage } from './page.mjs';

const hashOf = (page) => new URL(page.url()).hash;
const digestOf = (page) => page.getAttribute('#cpu-digest', 'data-digest');

test('the address opens the same event with the same options', async () => {
  let hash;
  let digest;
  await withPage(async (page, first) => {
    await page.click('#samples button:nth-child(3)');
    digest = await answered(page, first);
    await page.click('#samples button:nth-child(3)');
    digest = await answered(page, digest);
    await page.selectOption('#preset', 'jet');
    digest = await answered(page, digest);
    await page.selectOption('#pair_weight', 'one');
    digest = await answered(page, digest);
    await page.focus('#z_bin_mm');
    await page.keyboard.press('PageUp');
    digest = await answered(page, digest);
    await page.click('#event button:has-text("Log")');
    hash = hashOf(page);
    const words = /^#sample=quiet&seed=2&preset=jet&pair_weight=one&z_bin_mm=[\d.]+&log=1$/;
    assert.match(hash, words);
  });
  await withPage(
    async (page, found) => {
      assert.equal(found, digest);
      assert.equal(hashOf(page), hash);
      assert.equal(await page.inputValue('#pair_weight'), 'one');
      assert.equal(await page.getAttribute('[data-action=Log]', 'aria-pressed'), 'true');
    },
    { hash },
  );
  await withPage(
    async (page) => {
      assert.equal(await page.inputValue('#roi'), '2');
      // Another address in the same page.
      const before = await digestOf(page);
      await page.evaluate(() => {
        location.hash = '#sample=top&preset=full-scan';
      });
      await answered(page, before);
      await page.waitForFunction(() => location.hash === '#sample=top&preset=full-scan');
      assert.equal(await page.inputValue('#preset'), 'full-scan');
    },
    { hash: '#sample=zee&event=2&preset=auto' },
  );
});

test('unknown words in the address are ignored', async () => {
  let digest;
  await withPage(async (page, found) => {
    digest = found;
  });
  const hash =
    '#sample=none&seed=-3&event=99&preset=constructor&pair_weight=x&z_bin_mm=1e9&peaks=a&fallback=y';
  await withPage(
    async (page, found) => {
      assert.equal(found, digest);
      assert.equal(hashOf(page), '#sample=zee&preset=auto');
      assert.ok(await page.isHidden('#problem'));
    },
    { hash },
  );
});

/** Returns the steps that the animation shows, from a click until the end. */
const stepsAfterPlay = (page) =>
  page.evaluate(
    () =>
      new Promise((resolve) => {
        const { dataset } = document.querySelector('#event canvas');
        const seen = [];
        const watch = () => {
          if (seen.at(-1) !== dataset.step) seen.push(dataset.step);
          if (seen.length > 1 && dataset.step === 'end') resolve(seen);
          else requestAnimationFrame(watch);
        };
        document.querySelector('[data-action=Play]').click();
        watch();
      }),
  );

const moves = {
  skip: process.env.ZFINDER_WEB_BROWSER === 'firefox' && 'the profile asks for reduced motion',
};
test('the animation goes from hits to pairs to histogram to peak', moves, async () => {
  await withPage(
    async (page) => {
      // The first event is animated.
      await page.waitForFunction(() => document.querySelector('canvas').dataset.step === 'end');
      const steps = await stepsAfterPlay(page);
      assert.deepEqual(steps.slice(-5), ['hits', 'pairs', 'bins', 'peak', 'end']);
      // A new event ends the animation.
      await page.click('[data-action=Play]');
      await page.click('#samples button:nth-child(2)');
      await page.waitForFunction(() => /top/.test(location.hash));
      assert.equal(await page.getAttribute('#event canvas', 'data-step'), 'end');
    },
    { reducedMotion: 'no-preference' },
  );
});

test('a user who prefers reduced motion sees no animation', async () => {
  await withPage(async (page) => {
    assert.equal(await page.getAttribute('#event canvas', 'data-step'), 'end');
    assert.ok(await page.isHidden('[data-action=Play]'));
  });
});

test('all vertices are drawn, with their tracklets', async () => {
  await withPage(
    async (page) => {
      const rows = await page.locator('#vertices tbody tr').count();
      assert.ok(rows > 10, `${rows} vertices`);
      assert.match(await page.textContent('#answer'), new RegExp(`first of ${rows}\\)`));
      const svg = async () => (await saved(page, '#event button:has-text("SVG")')).toString();
      const pairs = await svg();
      // Discs on the beam: one of radius 5, all others of radius 3.
      const discs = (text, radius) => text.split(`a${radius} ${radius} 0 1 0 `).length - 1;
      assert.deepEqual([discs(pairs, 5), discs(pairs, 3)], [2, 2 * (rows - 1)]);
      await page.selectOption('#tracklets', 'all');
      await page.waitForFunction(() => /--tracklets all/.test(command.textContent));
      assert.equal(await digestOf(page), await answered(page));
      assert.notEqual(await svg(), pairs);
    },
    { hash: '#sample=top&preset=all-vertices' },
  );
});

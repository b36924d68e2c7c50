// Tests the service worker: reloads without a server, and replaces a release as a whole.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { answered, open, serve } from './browser.mjs';
import { browsers, copyOfPage, ROOT } from './page.mjs';

/** Serves `folder`, opens the page with its service worker, and waits until the worker is ready. */
async function visit(folder, work) {
  const server = await serve(folder);
  const opened = await open(browsers.plain, server.url, { serviceWorkers: 'allow' });
  try {
    await answered(opened.page);
    await opened.page.evaluate(() => navigator.serviceWorker.ready.then(() => true));
    await work(opened.page, server);
    assert.deepEqual(opened.errors, []);
  } finally {
    await opened.close();
    server.close();
  }
}

test('after one visit the page loads without a server, and finds the same vertices', async () => {
  await visit(undefined, async (page, server) => {
    /** Searches all samples that are files, and returns their vertices and digests. */
    const results = async () => {
      const found = [];
      let digest = '';
      for (const sample of [1, 2]) {
        if (sample > 1) await page.click(`#samples button:nth-child(${sample})`);
        digest = await answered(page, digest);
        found.push(digest, await page.textContent('#vertices tbody'));
      }
      return found;
    };
    const online = await results();
    server.close();
    await assert.rejects(fetch(server.url));
    // The address names the second sample.
    await page.reload();
    const second = await answered(page);
    assert.equal(second, online[2]);
    await page.click('#samples button:nth-child(1)');
    await answered(page, second);
    assert.deepEqual(await results(), online);
  });
});

const edit = (path, from, to) => writeFileSync(path, readFileSync(path, 'utf8').replace(from, to));

/** Writes a release whose title and first sample have the name `to`. */
function release(folder, from, to) {
  edit(join(folder, 'index.html'), `<title>${from}`, `<title>${to}`);
  edit(join(folder, 'samples.js'), `name: '${from}'`, `name: '${to}'`);
  execFileSync('scripts/web', ['list', folder], { cwd: ROOT });
}

/** Returns the releases of the document and of a script. */
async function shown(page) {
  await answered(page);
  return page.evaluate(() => [
    document.title,
    document.querySelector('#samples button').firstChild.textContent,
  ]);
}

/** Lets the browser look for a new release, and returns the next state of its worker. */
const update = (page) =>
  page.evaluate(async () => {
    const registration = await navigator.serviceWorker.ready;
    const state = new Promise((resolve) => {
      registration.addEventListener('updatefound', () => {
        const { installing } = registration;
        installing.addEventListener('statechange', () => resolve(installing.state));
      });
    });
    await registration.update().catch(() => {});
    return state;
  });

test('a new release replaces all files at once, when no page of the old one is open', async () => {
  const folder = copyOfPage();
  edit(join(folder, 'index.html'), 'zfinder in the browser', 'one');
  edit(join(folder, 'samples.js'), 'Z → ee', 'one');
  release(folder, 'one', 'one');
  await visit(folder, async (page) => {
    // The server has the list of the new release, and a script of the old one.
    release(folder, 'one', 'two');
    edit(join(folder, 'samples.js'), "name: 'two'", "name: 'one'");
    assert.equal(await update(page), 'redundant');
    await page.reload();
    assert.deepEqual(await shown(page), ['one', 'one']);

    edit(join(folder, 'samples.js'), "name: 'one'", "name: 'two'");
    assert.equal(await update(page), 'installed');
    await page.reload();
    assert.deepEqual(await shown(page), ['one', 'one']);

    const [url, context] = [page.url(), page.context()];
    await page.close();
    // The browser activates the new worker soon after the last page is closed.
    let seen = ['one', 'one'];
    let kept;
    for (let i = 0; i < 20 && seen[0] === 'one'; i += 1) {
      assert.deepEqual(seen, ['one', 'one']);
      const next = await context.newPage();
      await next.goto(url);
      seen = await shown(next);
      kept = await next.evaluate(() => caches.keys());
      await next.close();
    }
    assert.deepEqual(seen, ['two', 'two']);
    assert.equal(kept.length, 1, `${kept}`);
  });
});

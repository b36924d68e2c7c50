// Tests the Content-Security-Policy. All other tests require that it blocks nothing of the page.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { answered, FOLDER, open, serve } from './browser.mjs';
import { browsers, copyOfPage } from './page.mjs';

const PLANTED = `<script>globalThis.ran = 'script';</script>
  <style>#planted { position: fixed; }</style>
  <p id="planted" style="position: fixed" onclick="globalThis.ran = 'handler'">planted</p>`;

test('planted scripts, styles and requests to other servers are blocked', async () => {
  const folder = copyOfPage();
  const path = join(folder, 'index.html');
  writeFileSync(path, readFileSync(path, 'utf8').replace('</body>', `${PLANTED}</body>`));
  const [server, other] = [await serve(folder), await serve()];
  const { page, errors, close } = await open(browsers.plain, server.url);
  try {
    await answered(page);
    const seen = await page.evaluate(async (other) => {
      const place = document.getElementById('planted');
      place.click();
      const refused = new Promise((resolve) => {
        addEventListener('securitypolicyviolation', ({ effectiveDirective }) => {
          if (effectiveDirective === 'connect-src') resolve('refused');
        });
      });
      return {
        ran: globalThis.ran ?? null,
        position: getComputedStyle(place).position,
        // Without the policy, `no-cors` would send the request.
        request: await fetch(other, { mode: 'no-cors' }).then(
          () => 'sent',
          () => refused,
        ),
      };
    }, other.url);
    assert.deepEqual(seen, { ran: null, position: 'static', request: 'refused' });
    const directives = errors
      .map((error) => error.match(/^policy: (\S+) blocked/)?.[1])
      .filter(Boolean);
    assert.deepEqual(
      new Set(directives),
      new Set([
        'script-src-elem',
        'script-src-attr',
        'style-src-elem',
        'style-src-attr',
        'connect-src',
      ]),
    );
  } finally {
    await close();
    server.close();
    other.close();
  }
});

test('the page works if the server sends the policy for the workers, too', async () => {
  const html = readFileSync(join(FOLDER, 'index.html'), 'utf8');
  const [, policy] = html.match(/http-equiv="Content-Security-Policy"\s+content="([^"]+)"/);
  const server = await serve(FOLDER, { 'content-security-policy': policy });
  const { page, errors, close } = await open(browsers.plain, server.url, {
    serviceWorkers: 'allow',
  });
  try {
    await answered(page);
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => true));
    assert.deepEqual(errors, []);
  } finally {
    await close();
    server.close();
  }
});

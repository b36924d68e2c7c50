// Acts of a user: opens the page, chooses files, saves files.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { answered, BROWSER, DOWNLOADS, FOLDER, launch, open, serve, SHOTS } from './browser.mjs';

export const ROOT = new URL('../..', import.meta.url).pathname;
/** The native command. `scripts/web test --light` builds none, and skips comparisons with it. */
export const COMMAND = process.env.ZFINDER_COMMAND;
export const native = { skip: COMMAND ? false : 'the command was not built: --light' };

/**
 * The browsers of a test file. `plain` has no WebGPU: compilation for SwiftShader takes seconds, and
 * most tests need no GPU.
 */
export const browsers = {};
let server;

before(async () => {
  mkdirSync(DOWNLOADS, { recursive: true });
  server = await serve();
  browsers.plain = await launch({ webgpu: false });
});

after(async () => {
  await Promise.all(Object.values(browsers).map((browser) => browser.close()));
  server.close();
});

/**
 * Opens the page at `hash`, waits for the first sample, and requires a console without errors.
 * Opens all folds, unless `folded`.
 */
export async function withPage(
  work,
  { on = browsers.plain, folded = false, hash = '', ...options } = {},
) {
  const opened = await open(on, server.url, options, hash);
  try {
    const digest = await answered(opened.page);
    if (!folded) await unfold(opened.page);
    await work(opened.page, digest);
    assert.deepEqual(opened.errors, []);
  } finally {
    await opened.close();
  }
}

/** Opens all folds. */
export const unfold = (page) =>
  page.evaluate(() => {
    for (const fold of document.querySelectorAll('details')) fold.open = true;
  });

/** Opens the page in a browser with WebGPU. */
export async function withGpu(work) {
  browsers.gpu ??= await launch();
  await withPage(work, { on: browsers.gpu });
}

/** Copies the built page, and returns the folder. */
export function copyOfPage() {
  const folder = `${SHOTS}/copy`;
  rmSync(folder, { recursive: true, force: true });
  cpSync(FOLDER, folder, { recursive: true });
  return folder;
}

/** Runs the command that the page shows, in this folder, and returns the digest. */
export function nativeDigest(text, folder = ROOT) {
  const said = execFileSync(
    'bash',
    ['-c', `"$ZFINDER_COMMAND" ${text.replace(/^zfinder /, '')} --engine cpu --format csv 2>&1`],
    { cwd: folder },
  );
  return said.toString().match(/sha256:[0-9a-f]{64}/)[0];
}

/** Clicks a button, and returns the file that it saves. */
export async function saved(page, selector) {
  // Playwright reports no downloads of blobs for a Firefox of this channel.
  if (BROWSER === 'firefox') return savedIn(DOWNLOADS, () => page.click(selector));
  const [download] = await Promise.all([page.waitForEvent('download'), page.click(selector)]);
  return readFileSync(await download.path());
}

/** Returns the next file in an empty folder. The browser writes `NAME.part` first. */
async function savedIn(folder, act) {
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
  await act();
  for (let i = 0; i < 300; i += 1) {
    const [name, ...others] = readdirSync(folder);
    if (name && others.length === 0 && statSync(join(folder, name)).size > 0)
      return readFileSync(join(folder, name));
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
  throw new Error('nothing was saved');
}

export async function drop(page, name, bytes) {
  const data = await page.evaluateHandle(
    ([name, text]) => {
      const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      const transfer = new DataTransfer();
      transfer.items.add(new File([bytes], name));
      return transfer;
    },
    [name, Buffer.from(bytes).toString('base64')],
  );
  await page.dispatchEvent('#drop', 'drop', { dataTransfer: data });
}

export const problem = async (page) => {
  await page.waitForSelector('#problem:not([hidden])');
  return page.textContent('#problem');
};

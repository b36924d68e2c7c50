// Serves the page, and drives a browser.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { chromium, firefox } from 'playwright-core';

// scripts/web test sets these variables.
const TARGET = new URL('../../target', import.meta.url).pathname;
export const FOLDER = process.env.ZFINDER_WEB ?? `${TARGET}/web`;
export const SHOTS = process.env.ZFINDER_WEB_SHOTS ?? `${TARGET}/web-test`;

/** The browser under test: chromium or firefox. */
export const BROWSER = process.env.ZFINDER_WEB_BROWSER ?? 'chromium';
/** The folder of files that Firefox saves. */
export const DOWNLOADS = `${SHOTS}/saved`;
/** Options of a test that needs Chromium. */
export const onlyChromium = (reason) => ({ skip: BROWSER === 'chromium' ? false : reason });

const TYPES = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
  '.csv': 'text/csv',
  '.gz': 'application/gzip',
};

/** Serves the page on a free port. `close` also ends open connections. */
export async function serve(folder = FOLDER, headers = {}) {
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
    try {
      const bytes = await readFile(join(folder, path === '/' ? 'index.html' : path));
      response.writeHead(200, {
        ...headers,
        'content-type': TYPES[extname(path === '/' ? '.html' : path)] ?? 'text/html',
      });
      response.end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${server.address().port}/`, close };
}

/** SwiftShader is Chromium's own software adapter, which every machine has. */
const WEBGPU = [
  '--enable-unsafe-webgpu',
  '--use-webgpu-adapter=swiftshader',
  '--enable-features=Vulkan,WebGPU',
];

export function launch({ webgpu = true } = {}) {
  if (BROWSER === 'firefox') {
    // The channel drives an unchanged Firefox through WebDriver BiDi. Playwright 1.65 sends a command
    // that Debian's Firefox 153 does not have, so package.json names 1.64.
    return firefox.launch({
      channel: 'moz-firefox',
      executablePath: process.env.ZFINDER_WEB_PATH,
      downloadsPath: DOWNLOADS,
      firefoxUserPrefs: { 'dom.webgpu.enabled': webgpu, 'ui.prefersReducedMotion': 1 },
    });
  }
  return chromium.launch({
    executablePath: process.env.ZFINDER_WEB_PATH,
    args: [
      '--headless=new',
      '--no-sandbox',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...(webgpu ? WEBGPU : ['--disable-features=WebGPU']),
    ],
  });
}

/**
 * Opens the page, and collects all errors of the console, with violations of the
 * Content-Security-Policy. Tests of the service worker allow one; all others block it.
 */
export async function open(browser, url, options = {}, hash = '') {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    serviceWorkers: 'block',
    // The animation would change pictures under comparison.
    reducedMotion: 'reduce',
    ...options,
  });
  const page = await context.newPage();
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) =>
      console.error(`policy: ${effectiveDirective} blocked ${blockedURI}`),
    );
  });
  const errors = [];
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('requestfailed', (request) =>
    errors.push(`${request.url()}: ${request.failure().errorText}`),
  );
  // The page must not use other servers.
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !/^(blob|data):/.test(request.url()))
      errors.push(`request to ${request.url()}`);
  });
  await page.goto(url + hash);
  return { page, errors, close: () => context.close() };
}

/** Waits until the CPU engine has a digest other than `before`, and returns it. */
export async function answered(page, before = '') {
  const handle = await page.waitForFunction(
    (before) => {
      const digest = document.getElementById('cpu-digest').dataset.digest;
      return digest && digest !== before ? digest : null;
    },
    before,
    { timeout: 60_000 },
  );
  return handle.jsonValue();
}

/** Waits for the GPU. Chromium takes seconds to compile for SwiftShader. */
export async function gpuAnswered(page) {
  await page.waitForFunction(() => document.getElementById('gpu-same').textContent !== '', null, {
    timeout: 180_000,
  });
  return page.textContent('#gpu-same');
}

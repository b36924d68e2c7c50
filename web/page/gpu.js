// Searches on the GPU: one at a time, and of those that wait only the last.
import { ask } from './library.js';

/** A change is searched once it has rested so long [ms]. */
const REST_MS = 250;

export class GpuSearches {
  /** @param shown takes what there is to show: {device, state, ms, digest, firstMs} */
  constructor(shown) {
    this.shown = shown;
    this.wanted = null;
    this.running = false;
    this.available = true;
    this.timer = 0;
  }

  want(config) {
    this.wanted = config;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.run(), REST_MS);
  }

  /** Forgets what waits, and the answer of what runs. */
  forget() {
    this.wanted = null;
    clearTimeout(this.timer);
  }

  async run() {
    if (this.running || !this.available) return;
    this.running = true;
    while (this.wanted) {
      const config = this.wanted;
      const show = (what) => { if (this.wanted === config) this.shown(what); };
      try {
        const { name, software } = await ask('device');
        const device = software ? `${name} (software)` : name;
        show({ device, state: 'compiling and searching…' });
        const found = await ask('searchGpu', { config });
        show({ device, ...found });
      } catch (error) {
        show({ state: error.message });
        this.available = !/WebGPU/.test(error.message);
      }
      if (this.wanted === config) this.wanted = null;
    }
    this.running = false;
  }
}

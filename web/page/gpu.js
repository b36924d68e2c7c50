// Searches on the GPU: one at a time. Of several waiting searches only the last one runs.
import { ask } from './library.js';

/** A search starts when the options have not changed for this time [ms]. */
const REST_MS = 250;

export class GpuSearches {
  /** @param shown shows progress and answers: {device, state, ms, digest, firstMs} */
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

  /** Discards the waiting search, and the answer of the running one. */
  forget() {
    this.wanted = null;
    clearTimeout(this.timer);
  }

  async run() {
    if (this.running || !this.available) return;
    this.running = true;
    while (this.wanted) {
      const config = this.wanted;
      const show = (what) => {
        if (this.wanted === config) this.shown(what);
      };
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

// The animation of the search: hits, pairs, histogram, peak.
import { COMPLETE } from './pictures.js';

/** Duration of each step [ms]. */
const STEPS = [
  ['hits', 600],
  ['pairs', 1100],
  ['bins', 900],
  ['peak', 500],
];
const reduced = matchMedia('(prefers-reduced-motion: reduce)');

export class Animation {
  /** @param show draws a state: how much of each step, from 0 to 1 */
  constructor(show) {
    this.show = show;
    this.frame = 0;
    reduced.addEventListener('change', () => this.stop());
  }

  /** Plays all steps, unless the user prefers reduced motion. Then it shows the end. */
  play() {
    this.stop();
    if (reduced.matches) return;
    const start = performance.now();
    const next = (now) => {
      const state = {};
      let rest = Math.max(0, now - start);
      let name = 'end';
      for (const [step, ms] of STEPS) {
        state[step] = Math.min(1, Math.max(0, rest / ms));
        if (rest < ms && name === 'end') name = step;
        rest -= ms;
      }
      this.show(state, name);
      this.frame = name === 'end' ? 0 : requestAnimationFrame(next);
    };
    this.frame = requestAnimationFrame(next);
  }

  /** Ends the animation, and shows all. */
  stop() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.show(COMPLETE, 'end');
  }
}

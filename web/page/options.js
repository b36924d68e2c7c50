// Options of the search: a preset, and the changes of the user.
const PAIR_WEIGHT = document.getElementById('pair_weight');
const SLIDERS = ['phi_slice_deg', 'z_bin_mm', 'peaks'];

const slider = (key) => document.getElementById(key);
const toSlider = (key, value) => (key === 'peaks' ? value : Math.log10(value));
/** Rounds to three digits, so that the option of the command is short. */
const ofSlider = (key, value) =>
  key === 'peaks' ? Number(value) : Number((10 ** Number(value)).toPrecision(3));

export class Options {
  /** @param changed is called after each change by the user. */
  constructor(changed) {
    this.name = '';
    this.preset = {};
    this.config = {};
    this.keys = [];
    for (const key of SLIDERS) {
      slider(key).addEventListener('input', () => {
        this.config[key] = ofSlider(key, slider(key).value);
        this.showValue(key);
        changed();
      });
    }
    PAIR_WEIGHT.addEventListener('change', () => {
      const byPt = PAIR_WEIGHT.value === 'pt';
      this.config.pair_weight = PAIR_WEIGHT.value;
      // Directions and densest pairs need weights by pT.
      this.config.ranking = byPt ? 'directions' : 'entries';
      this.config.z_estimate = byPt ? 'densest' : 'mean';
      changed();
    });
  }

  /** Sets the library's table of keys. */
  setKeys(keys) {
    this.keys = keys;
  }

  take(name, preset) {
    this.name = name;
    this.preset = preset;
    this.config = { ...preset };
    PAIR_WEIGHT.value = preset.pair_weight;
    for (const key of SLIDERS) {
      slider(key).value = toSlider(key, preset[key]);
      this.showValue(key);
    }
  }

  showValue(key) {
    const unit = this.keys.find(({ name }) => name === key)?.unit ?? '';
    const text = `${this.config[key]}${unit === 'deg' ? '°' : unit && ` ${unit}`}`;
    document.getElementById(`${key}-value`).textContent = text;
    slider(key).setAttribute('aria-valuetext', text);
  }

  /** Returns the same options for the command. */
  arguments() {
    // Values of the page are numbers and words; a pair is the same array as in the preset.
    const changed = this.keys.filter(({ name }) => this.config[name] !== this.preset[name]);
    return [
      `--preset ${this.name}`,
      ...changed.map(({ name, option }) => `${option} ${this.config[name]}`),
    ].join(' ');
  }
}

// Options of the search: a preset, and the changes of the user.
const SLIDERS = ['phi_slice_deg', 'z_bin_mm', 'peaks'];
const CHOICES = ['pair_weight', 'tracklets'];

const control = (key) => document.getElementById(key);
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
      control(key).addEventListener('input', () => {
        this.set(key, ofSlider(key, control(key).value));
        changed();
      });
    }
    for (const key of CHOICES) {
      control(key).addEventListener('change', () => {
        this.set(key, control(key).value);
        changed();
      });
    }
  }

  /** Sets the library's table of keys. */
  setKeys(keys) {
    this.keys = keys;
  }

  /** Takes a preset, and `changes` of its values by key. Ignores invalid changes. */
  take(name, preset, changes = {}) {
    this.name = name;
    this.preset = preset;
    this.config = { ...preset };
    for (const key of CHOICES) {
      const words = [...control(key).options].map(({ value }) => value);
      if (words.includes(changes[key])) this.set(key, changes[key]);
      control(key).value = this.config[key];
    }
    for (const key of SLIDERS) {
      const { min, max } = control(key);
      const place = toSlider(key, Number(changes[key]));
      if (place >= Number(min) && place <= Number(max)) this.config[key] = Number(changes[key]);
      control(key).value = toSlider(key, this.config[key]);
      this.showValue(key);
    }
  }

  set(key, value) {
    this.config[key] = value;
    if (key === 'pair_weight') {
      // Directions and densest pairs need weights by pT.
      this.config.ranking = value === 'pt' ? 'directions' : 'entries';
      this.config.z_estimate = value === 'pt' ? 'densest' : 'mean';
    } else if (SLIDERS.includes(key)) {
      this.showValue(key);
    }
  }

  showValue(key) {
    const unit = this.keys.find(({ name }) => name === key)?.unit ?? '';
    const text = `${this.config[key]}${unit === 'deg' ? '°' : unit && ` ${unit}`}`;
    control(`${key}-value`).textContent = text;
    control(key).setAttribute('aria-valuetext', text);
  }

  /** Returns the values of controls that differ from the preset, by key. */
  changes() {
    const changed = [...CHOICES, ...SLIDERS].filter((key) => this.config[key] !== this.preset[key]);
    return Object.fromEntries(changed.map((key) => [key, this.config[key]]));
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

// Options of the search: a preset, and the changes of the user.
const TRIPLETS = document.getElementById('triplets');
const SLIDERS = ['phi_slice_deg', 'z_bin_mm', 'peaks'];
const UNITS = { phi_slice_deg: '°', z_bin_mm: ' mm', peaks: '' };
/** Keys of the configuration, and the options of the command that set them. */
const FLAGS = {
  phi_slice_deg: '--phi-slice-deg',
  z_bin_mm: '--z-bin',
  triplets: '--triplets',
  peaks: '--peaks',
  weighting: '--weighting',
};

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
    for (const key of SLIDERS) {
      slider(key).addEventListener('input', () => {
        this.config[key] = ofSlider(key, slider(key).value);
        this.showValue(key);
        changed();
      });
    }
    TRIPLETS.addEventListener('change', () => {
      this.config.triplets = TRIPLETS.value;
      // Weights by pT exclude a choice of triplets.
      const own = this.config.triplets === this.preset.triplets;
      this.config.weighting = own ? this.preset.weighting : 'count';
      changed();
    });
  }

  take(name, preset) {
    this.name = name;
    this.preset = preset;
    this.config = { ...preset };
    TRIPLETS.value = preset.triplets;
    for (const key of SLIDERS) {
      slider(key).value = toSlider(key, preset[key]);
      this.showValue(key);
    }
  }

  showValue(key) {
    const text = `${this.config[key]}${UNITS[key]}`;
    document.getElementById(`${key}-value`).textContent = text;
    slider(key).setAttribute('aria-valuetext', text);
  }

  /** Returns the same options for the command. */
  arguments() {
    const changed = Object.entries(FLAGS).filter(([key]) => this.config[key] !== this.preset[key]);
    return [
      `--preset ${this.name}`,
      ...changed.map(([key, flag]) => `${flag} ${this.config[key]}`),
    ].join(' ');
  }
}

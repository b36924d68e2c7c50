// A picture of one or more panels above each other, with a common x axis. Mouse, touch and keyboard
// zoom and pan it, and it is saved as PNG or SVG.
import { save } from './save.js';
import { SvgContext } from './svg.js';

const MARGIN = { left: 54, right: 16, top: 8, bottom: 36, between: 8 };
const FONT = '12px system-ui, sans-serif';
const MOST_ZOOM = 1e5;

/** Returns the colours of the page, light or dark. */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const names = ['paper', 'ink', 'quiet', 'line', 'found', 'true', 'point', 'layer', 'fill'];
  return Object.fromEntries(
    names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]),
  );
}

/** Returns about `wanted` round numbers between two ends. */
function ticks(low, high, wanted) {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= rough);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const all = [];
  for (let n = Math.ceil(low / step); n * step <= high; n += 1)
    all.push({ at: n * step, text: (n * step).toFixed(Math.min(digits, 6)) });
  return all;
}

/** Returns the powers of ten between two ends. */
function powers(low, high) {
  const all = [];
  for (let n = Math.ceil(Math.log10(low)); 10 ** n <= high; n += 1)
    all.push({ at: 10 ** n, text: String(10 ** n) });
  return all;
}

/** Maps values to pixels of a box. With `log` the y axis is logarithmic. */
export class Frame {
  constructor({ x0, x1, y0, y1, log = false }, { left, top, width, height }) {
    Object.assign(this, { left, top, log, view: { x0, x1, y0, y1 } });
    this.width = Math.max(10, width);
    this.height = Math.max(10, height);
  }
  get right() {
    return this.left + this.width;
  }
  get bottom() {
    return this.top + this.height;
  }
  x(value) {
    return this.left + ((value - this.view.x0) / (this.view.x1 - this.view.x0)) * this.width;
  }
  y(value) {
    const scale = this.log ? (y) => Math.log10(Math.max(y, this.view.y0)) : (y) => y;
    const [low, high] = [scale(this.view.y0), scale(this.view.y1)];
    return this.top + ((high - scale(value)) / (high - low)) * this.height;
  }
  valueX(pixel) {
    return this.view.x0 + ((pixel - this.left) / this.width) * (this.view.x1 - this.view.x0);
  }
  contains(x, y) {
    return x >= this.left && x <= this.right && y >= this.top && y <= this.bottom;
  }
}

export class Picture {
  /**
   * @param section the element that contains the picture
   * @param options.title names the picture in labels of buttons
   * @param options.name is the stem of saved files
   * @param options.label of the x axis
   * @param options.equal gives both axes the same scale
   * @param options.fromZero zooms about y = 0, and moves along x only
   * @param options.legend pairs of a shape and its meaning
   * @param options.buttons pairs of a text and an action, before the usual buttons
   * @param options.panels from top to bottom, each with
   *   share: its part of the height,
   *   label: of its y axis,
   *   rangeY(view): derives the y range from the visible x range; the first panel has none,
   *   draw(context, frame, colours): draws the content,
   *   point(frame, x, y): returns a text about a pixel, or null
   */
  constructor(section, options) {
    Object.assign(this, options);
    this.home = { x0: 0, x1: 1, y0: 0, y1: 1 };
    this.widest = 1;
    this.view = { ...this.home };
    this.pointers = new Map();
    this.canvas = document.createElement('canvas');
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.describe('No event yet.');
    this.hover = document.createElement('p');
    this.hover.className = 'hover';
    const bar = document.createElement('div');
    bar.className = 'bar';
    bar.append(this.legendList(), this.tools());
    section.append(this.canvas, this.hover, bar);
    this.listen();
    new ResizeObserver(() => this.redraw()).observe(this.canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.redraw());
  }

  describe(text) {
    this.canvas.setAttribute(
      'aria-label',
      `${text} Arrow keys move the picture, plus and minus zoom, 0 shows the start.`,
    );
  }

  legendList() {
    const list = document.createElement('ul');
    list.className = 'legend';
    for (const [shape, meaning] of this.legend) {
      const item = document.createElement('li');
      item.innerHTML = `<svg width="22" height="12" aria-hidden="true">${shape}</svg>`;
      item.append(meaning);
      list.append(item);
    }
    return list;
  }

  tools() {
    const row = document.createElement('div');
    row.className = 'tools';
    const actions = [
      ...(this.buttons ?? []),
      ['+', () => this.zoom(0.5), 'Zoom in'],
      ['−', () => this.zoom(2), 'Zoom out'],
      ['Reset', () => this.reset()],
      ['PNG', () => this.savePng()],
      ['SVG', () => this.saveSvg()],
    ];
    for (const [text, action, words = text] of actions) {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = text;
      button.dataset.action = text;
      button.setAttribute('aria-label', `${words}: ${this.title}`);
      button.addEventListener('click', () => action(button));
      row.append(button);
    }
    return row;
  }

  /**
   * Sets the range of the start, and the factor from there to the widest range. Shows the start, or
   * keeps the visible range.
   */
  show(home, { widest = 1, keep = false } = {}) {
    this.home = home;
    this.widest = Math.max(1, widest);
    if (!keep) this.view = { ...home };
    this.redraw();
  }

  reset() {
    this.view = { ...this.home };
    this.redraw();
  }

  /** Zooms about a position from 0 to 1, and returns whether the picture has changed. */
  zoom(factor, atX = 0.5, atY = 0.5) {
    const { x0, x1, y0, y1 } = this.view;
    const home = this.home.x1 - this.home.x0;
    const [least, most] = [home / MOST_ZOOM, home * this.widest];
    const span = Math.min(Math.max((x1 - x0) * factor, least), most);
    const by = span / (x1 - x0);
    if (Math.abs(by - 1) < 1e-9) return false;
    const x = x0 + atX * (x1 - x0);
    const y = this.fromZero ? 0 : y0 + (1 - atY) * (y1 - y0);
    this.view = {
      x0: x + (x0 - x) * by,
      x1: x + (x1 - x) * by,
      y0: y + (y0 - y) * by,
      y1: y + (y1 - y) * by,
    };
    this.redraw();
    return true;
  }

  pan(byX, byY) {
    const { x0, x1, y0, y1 } = this.view;
    const [dx, dy] = [byX * (x1 - x0), this.fromZero ? 0 : byY * (y1 - y0)];
    this.view = { x0: x0 + dx, x1: x1 + dx, y0: y0 + dy, y1: y1 + dy };
    this.redraw();
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener('keydown', (event) => {
      const step = 0.1;
      const actions = {
        ArrowLeft: () => this.pan(-step, 0),
        ArrowRight: () => this.pan(step, 0),
        ArrowUp: () => this.pan(0, step),
        ArrowDown: () => this.pan(0, -step),
        '+': () => this.zoom(0.8),
        '=': () => this.zoom(0.8),
        '-': () => this.zoom(1.25),
        0: () => this.reset(),
      };
      if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
      event.preventDefault();
      actions[event.key]();
    });
    // At the end of its range the picture ignores the wheel, which then scrolls the page.
    canvas.addEventListener(
      'wheel',
      (event) => {
        const { x, y } = this.place(event);
        if (this.zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, x, y)) event.preventDefault();
      },
      { passive: false },
    );
    canvas.addEventListener('dblclick', () => this.reset());
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, event);
    });
    canvas.addEventListener('pointermove', (event) => this.moved(event));
    for (const end of ['pointerup', 'pointercancel'])
      canvas.addEventListener(end, (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener('pointerleave', () => {
      this.hover.textContent = '';
    });
  }

  moved(event) {
    const before = this.pointers.get(event.pointerId);
    const frames = this.frames();
    if (!before) {
      const box = this.canvas.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      const panel = frames.findIndex((frame) => frame.contains(x, y));
      this.hover.textContent = this.panels[panel]?.point(frames[panel], x, y) ?? '';
      return;
    }
    if (this.pointers.size === 2) {
      const other = [...this.pointers.values()].find(
        (pointer) => pointer.pointerId !== event.pointerId,
      );
      const apart = (a) => Math.hypot(a.clientX - other.clientX, a.clientY - other.clientY);
      if (apart(event) > 0) this.zoom(apart(before) / apart(event));
    } else {
      this.pan(
        -(event.clientX - before.clientX) / frames[0].width,
        (event.clientY - before.clientY) / frames[0].height,
      );
    }
    this.pointers.set(event.pointerId, event);
  }

  /** Returns the position of a pointer in the first panel, from 0 to 1. */
  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const [frame] = this.frames();
    return {
      x: (event.clientX - box.left - frame.left) / frame.width,
      y: (event.clientY - box.top - frame.top) / frame.height,
    };
  }

  /** Returns the visible range: with `equal`, the longer axis shows more. */
  visible({ width, height }) {
    const { view } = this;
    if (!this.equal) return view;
    const scale = Math.max((view.x1 - view.x0) / width, (view.y1 - view.y0) / height);
    const [x, y] = [(view.x0 + view.x1) / 2, (view.y0 + view.y1) / 2];
    const [w, h] = [(scale * width) / 2, (scale * height) / 2];
    return { x0: x - w, x1: x + w, y0: y - h, y1: y + h };
  }

  /** Returns a frame for each panel. */
  frames() {
    const { panels } = this;
    const left = MARGIN.left;
    const width = this.canvas.clientWidth - left - MARGIN.right;
    const gaps = MARGIN.top + MARGIN.bottom + MARGIN.between * (panels.length - 1);
    const free = this.canvas.clientHeight - gaps;
    let top = MARGIN.top;
    return panels.map((panel) => {
      const box = { left, top, width, height: panel.share * free };
      top += box.height + MARGIN.between;
      const view = this.visible(box);
      return new Frame(panel.rangeY ? { ...view, ...panel.rangeY(view) } : view, box);
    });
  }

  redraw() {
    const { canvas } = this;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (width === 0 || height === 0) return;
    if (
      canvas.width !== Math.round(width * ratio) ||
      canvas.height !== Math.round(height * ratio)
    ) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const context = canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.paint(context);
  }

  paint(context) {
    const palette = colours();
    const frames = this.frames();
    context.globalAlpha = 1;
    context.fillStyle = palette.paper;
    context.fillRect(0, 0, this.canvas.clientWidth, this.canvas.clientHeight);
    this.panels.forEach((panel, number) => {
      const frame = frames[number];
      context.save();
      context.beginPath();
      context.rect(frame.left, frame.top, frame.width, frame.height);
      context.clip();
      panel.draw(context, frame, palette);
      context.restore();
      context.globalAlpha = 1;
      context.setLineDash([]);
      axes(context, frame, palette, panel.label, number === frames.length - 1 ? this.label : null);
    });
  }

  savePng() {
    this.canvas.toBlob((blob) => save(`${this.name}.png`, blob));
  }

  saveSvg() {
    const context = new SvgContext(this.canvas.clientWidth, this.canvas.clientHeight);
    this.paint(context);
    save(`${this.name}.svg`, context.text(), 'image/svg+xml');
  }
}

/** Draws the axes of a panel. Only the lowest panel has numbers and a label of x. */
function axes(context, frame, palette, labelY, labelX) {
  const { view, left, right, top, bottom } = frame;
  context.strokeStyle = palette.quiet;
  context.fillStyle = palette.ink;
  context.lineWidth = 1;
  context.font = FONT;
  context.beginPath();
  context.rect(left, top, frame.width, frame.height);
  context.textAlign = 'center';
  context.textBaseline = 'top';
  for (const { at, text } of ticks(view.x0, view.x1, Math.max(2, frame.width / 90))) {
    context.moveTo(frame.x(at), bottom);
    context.lineTo(frame.x(at), bottom + 4);
    if (labelX) context.fillText(text, frame.x(at), bottom + 6);
  }
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  const marks = frame.log
    ? powers(view.y0, view.y1)
    : ticks(view.y0, view.y1, Math.max(2, frame.height / 50));
  for (const { at, text } of marks) {
    context.moveTo(left - 4, frame.y(at));
    context.lineTo(left, frame.y(at));
    context.fillText(text, left - 7, frame.y(at));
  }
  context.stroke();
  context.textBaseline = 'alphabetic';
  if (labelX) context.fillText(labelX, right, bottom + 32);
  context.textAlign = 'left';
  context.fillText(labelY, left + 6, top + 14);
}

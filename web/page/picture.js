// A picture with axes. Mouse, touch and keyboard zoom and pan it, and it is saved as PNG or SVG.
import { save } from './save.js';
import { SvgContext } from './svg.js';

const MARGIN = { left: 58, right: 14, top: 12, bottom: 40 };
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

/** Maps values to pixels of a picture of this size. */
class Frame {
  constructor(view, width, height) {
    this.view = view;
    this.left = MARGIN.left;
    this.top = MARGIN.top;
    this.width = Math.max(10, width - MARGIN.left - MARGIN.right);
    this.height = Math.max(10, height - MARGIN.top - MARGIN.bottom);
  }
  x(value) {
    return this.left + ((value - this.view.x0) / (this.view.x1 - this.view.x0)) * this.width;
  }
  y(value) {
    return this.top + ((this.view.y1 - value) / (this.view.y1 - this.view.y0)) * this.height;
  }
  valueX(pixel) {
    return this.view.x0 + ((pixel - this.left) / this.width) * (this.view.x1 - this.view.x0);
  }
  valueY(pixel) {
    return this.view.y1 - ((pixel - this.top) / this.height) * (this.view.y1 - this.view.y0);
  }
}

export class Picture {
  /**
   * @param section the element that contains the picture
   * @param options.title names the picture in labels of buttons
   * @param options.name is the stem of saved files
   * @param options.labels of both axes
   * @param options.equal gives both axes the same scale
   * @param options.onlyX derives the y range from the visible x range, by options.rangeY(view)
   * @param options.draw(context, frame, colours) draws the content
   * @param options.point(frame, x, y) returns a text about a pixel, or null
   * @param options.legend pairs of a shape and its meaning
   */
  constructor(section, options) {
    Object.assign(this, options);
    this.home = { x0: 0, x1: 1, y0: 0, y1: 1 };
    this.view = { ...this.home };
    this.pointers = new Map();
    this.canvas = document.createElement('canvas');
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.describe('No event yet.');
    this.hover = document.createElement('p');
    this.hover.className = 'hover';
    section.classList.toggle('square', Boolean(this.equal));
    section.append(this.legendList(), this.canvas, this.hover, this.tools());
    this.listen();
    new ResizeObserver(() => this.redraw()).observe(this.canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.redraw());
  }

  describe(text) {
    this.canvas.setAttribute(
      'aria-label',
      `${text} Arrow keys move the picture, plus and minus zoom, 0 shows all.`,
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
      ['Zoom in', () => this.zoom(0.5)],
      ['Zoom out', () => this.zoom(2)],
      ['Show all', () => this.reset()],
      ['PNG', () => this.savePng()],
      ['SVG', () => this.saveSvg()],
    ];
    for (const [text, action] of actions) {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = text;
      button.setAttribute('aria-label', `${text}: ${this.title}`);
      button.addEventListener('click', action);
      row.append(button);
    }
    return row;
  }

  /** Sets the full range. Shows all of it, or keeps the visible range. */
  show(home, keep = false) {
    this.home = home;
    if (!keep) this.view = { ...home };
    this.redraw();
  }

  reset() {
    this.view = { ...this.home };
    this.redraw();
  }

  zoom(factor, atX = 0.5, atY = 0.5) {
    const { x0, x1, y0, y1 } = this.view;
    const most = this.home.x1 - this.home.x0;
    const span = (x1 - x0) * factor;
    if (span > 2 * most || span < most / MOST_ZOOM) return;
    const x = x0 + atX * (x1 - x0);
    const y = y0 + (1 - atY) * (y1 - y0);
    this.view.x0 = x + (x0 - x) * factor;
    this.view.x1 = x + (x1 - x) * factor;
    if (!this.onlyX) {
      this.view.y0 = y + (y0 - y) * factor;
      this.view.y1 = y + (y1 - y) * factor;
    }
    this.redraw();
  }

  pan(byX, byY) {
    const { x0, x1, y0, y1 } = this.view;
    const [dx, dy] = [byX * (x1 - x0), this.onlyX ? 0 : byY * (y1 - y0)];
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
    // The wheel scrolls the page, unless the picture has the focus.
    canvas.addEventListener(
      'wheel',
      (event) => {
        if (document.activeElement !== canvas && !event.ctrlKey) return;
        event.preventDefault();
        const { x, y } = this.place(event);
        this.zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, x, y);
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
    if (!before) {
      const box = this.canvas.getBoundingClientRect();
      this.hover.textContent =
        this.point(this.frame(), event.clientX - box.left, event.clientY - box.top) ?? '';
      return;
    }
    const frame = this.frame();
    if (this.pointers.size === 2) {
      const other = [...this.pointers.values()].find(
        (pointer) => pointer.pointerId !== event.pointerId,
      );
      const apart = (a) => Math.hypot(a.clientX - other.clientX, a.clientY - other.clientY);
      if (apart(event) > 0) this.zoom(apart(before) / apart(event));
    } else {
      this.pan(
        -(event.clientX - before.clientX) / frame.width,
        (event.clientY - before.clientY) / frame.height,
      );
    }
    this.pointers.set(event.pointerId, event);
  }

  /** Returns the position of a pointer in the picture, from 0 to 1. */
  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const frame = this.frame();
    return {
      x: (event.clientX - box.left - frame.left) / frame.width,
      y: (event.clientY - box.top - frame.top) / frame.height,
    };
  }

  frame() {
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    let view = this.view;
    if (this.equal) {
      const frame = new Frame(view, width, height);
      const scale = Math.max((view.x1 - view.x0) / frame.width, (view.y1 - view.y0) / frame.height);
      const [x, y] = [(view.x0 + view.x1) / 2, (view.y0 + view.y1) / 2];
      const [w, h] = [(scale * frame.width) / 2, (scale * frame.height) / 2];
      view = { x0: x - w, x1: x + w, y0: y - h, y1: y + h };
    }
    if (this.onlyX) view = { ...view, ...this.rangeY(view) };
    return new Frame(view, width, height);
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
    const frame = this.frame();
    context.globalAlpha = 1;
    context.fillStyle = palette.paper;
    context.fillRect(0, 0, this.canvas.clientWidth, this.canvas.clientHeight);
    context.save();
    context.beginPath();
    context.rect(frame.left, frame.top, frame.width, frame.height);
    context.clip();
    this.draw(context, frame, palette);
    context.restore();
    context.globalAlpha = 1;
    context.setLineDash([]);
    this.axes(context, frame, palette);
  }

  axes(context, frame, palette) {
    const { view } = frame;
    const [bottom, right] = [frame.top + frame.height, frame.left + frame.width];
    context.strokeStyle = palette.quiet;
    context.fillStyle = palette.ink;
    context.lineWidth = 1;
    context.font = FONT;
    context.beginPath();
    context.rect(frame.left, frame.top, frame.width, frame.height);
    context.textAlign = 'center';
    context.textBaseline = 'top';
    for (const { at, text } of ticks(view.x0, view.x1, Math.max(2, frame.width / 90))) {
      context.moveTo(frame.x(at), bottom);
      context.lineTo(frame.x(at), bottom + 4);
      context.fillText(text, frame.x(at), bottom + 6);
    }
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    for (const { at, text } of ticks(view.y0, view.y1, Math.max(2, frame.height / 50))) {
      context.moveTo(frame.left - 4, frame.y(at));
      context.lineTo(frame.left, frame.y(at));
      context.fillText(text, frame.left - 7, frame.y(at));
    }
    context.stroke();
    context.textBaseline = 'alphabetic';
    context.fillText(this.labels[0], right, bottom + 34);
    context.textAlign = 'left';
    context.fillText(this.labels[1], frame.left + 6, frame.top + 14);
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

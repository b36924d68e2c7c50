// A drawing context that writes SVG. It has the calls of CanvasRenderingContext2D that the pictures
// use.
const escape = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;');
const short = (number) => Number(number.toFixed(2));

export class SvgContext {
  constructor(width, height) {
    Object.assign(this, {
      width,
      height,
      parts: [],
      path: '',
      depth: 0,
      clips: 0,
      dash: [],
      saved: [],
    });
    Object.assign(this, {
      fillStyle: '#000',
      strokeStyle: '#000',
      lineWidth: 1,
      globalAlpha: 1,
      font: '12px sans-serif',
      textAlign: 'left',
      textBaseline: 'alphabetic',
    });
  }
  save() {
    this.saved.push(this.depth);
  }
  restore() {
    const depth = this.saved.pop();
    while (this.depth > depth) {
      this.parts.push('</g>');
      this.depth -= 1;
    }
  }
  beginPath() {
    this.path = '';
  }
  moveTo(x, y) {
    this.path += `M${short(x)} ${short(y)}`;
  }
  lineTo(x, y) {
    this.path += `L${short(x)} ${short(y)}`;
  }
  closePath() {
    this.path += 'Z';
  }
  rect(x, y, w, h) {
    this.path += `M${short(x)} ${short(y)}h${short(w)}v${short(h)}h${short(-w)}Z`;
  }
  arc(x, y, r) {
    const half = (width) => `a${short(r)} ${short(r)} 0 1 0 ${short(width)} 0`;
    this.path += `M${short(x - r)} ${short(y)}${half(2 * r)}${half(-2 * r)}`;
  }
  clip() {
    this.clips += 1;
    const id = `c${this.clips}`;
    this.parts.push(`<clipPath id="${id}"><path d="${this.path}"/></clipPath>`);
    this.parts.push(`<g clip-path="url(#${id})">`);
    this.depth += 1;
  }
  setLineDash(dash) {
    this.dash = dash;
  }
  fill() {
    this.add('path', { d: this.path, fill: this.fillStyle, 'fill-opacity': this.globalAlpha });
  }
  stroke() {
    this.add('path', {
      d: this.path,
      fill: 'none',
      stroke: this.strokeStyle,
      'stroke-opacity': this.globalAlpha,
      'stroke-width': this.lineWidth,
      ...(this.dash.length > 0 && { 'stroke-dasharray': this.dash.join(' ') }),
    });
  }
  fillRect(x, y, w, h) {
    this.beginPath();
    this.rect(x, y, w, h);
    this.fill();
  }
  fillText(text, x, y) {
    // An attribute `style` would need `unsafe-inline` in a page with a policy.
    const [, weight, size, family] = this.font.match(/^(?:(\d+) )?(\S+) (.*)$/);
    const attributes = {
      x: short(x),
      y: short(y),
      fill: this.fillStyle,
      'text-anchor': { left: 'start', center: 'middle', right: 'end' }[this.textAlign],
      'dominant-baseline': { top: 'hanging', middle: 'central', alphabetic: 'auto' }[
        this.textBaseline
      ],
      ...(weight && { 'font-weight': weight }),
      'font-size': size,
      'font-family': family,
    };
    this.add('text', attributes, text);
  }
  add(name, attributes, text = '') {
    const list = Object.entries(attributes).map(([key, value]) => `${key}="${escape(`${value}`)}"`);
    this.parts.push(`<${name} ${list.join(' ')}>${escape(text)}</${name}>`);
  }
  /** Returns the picture. */
  text() {
    const { width, height } = this;
    const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
    const content = this.parts.join('\n');
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>\n${content}\n</svg>\n`;
  }
}

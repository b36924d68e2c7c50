// A drawing context that writes SVG: the few calls of CanvasRenderingContext2D that the pictures make.
const escape = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const short = (number) => Number(number.toFixed(2));

export class SvgContext {
  constructor(width, height) {
    Object.assign(this, { width, height, parts: [], path: '', depth: 0, clips: 0, dash: [], saved: [] });
    Object.assign(this, {
      fillStyle: '#000', strokeStyle: '#000', lineWidth: 1, globalAlpha: 1, font: '12px sans-serif', textAlign: 'left', textBaseline: 'alphabetic',
    });
  }
  save() { this.saved.push(this.depth); }
  restore() {
    const depth = this.saved.pop();
    while (this.depth > depth) {
      this.parts.push('</g>');
      this.depth -= 1;
    }
  }
  beginPath() { this.path = ''; }
  moveTo(x, y) { this.path += `M${short(x)} ${short(y)}`; }
  lineTo(x, y) { this.path += `L${short(x)} ${short(y)}`; }
  closePath() { this.path += 'Z'; }
  rect(x, y, w, h) { this.path += `M${short(x)} ${short(y)}h${short(w)}v${short(h)}h${short(-w)}Z`; }
  arc(x, y, r) {
    this.path += `M${short(x - r)} ${short(y)}a${short(r)} ${short(r)} 0 1 0 ${short(2 * r)} 0a${short(r)} ${short(r)} 0 1 0 ${short(-2 * r)} 0`;
  }
  clip() {
    this.clips += 1;
    this.parts.push(`<clipPath id="c${this.clips}"><path d="${this.path}"/></clipPath><g clip-path="url(#c${this.clips})">`);
    this.depth += 1;
  }
  setLineDash(dash) { this.dash = dash; }
  fill() { this.parts.push(`<path d="${this.path}" fill="${this.fillStyle}" fill-opacity="${this.globalAlpha}"/>`); }
  stroke() {
    const dash = this.dash.length > 0 ? ` stroke-dasharray="${this.dash.join(' ')}"` : '';
    this.parts.push(`<path d="${this.path}" fill="none" stroke="${this.strokeStyle}" stroke-opacity="${this.globalAlpha}" stroke-width="${this.lineWidth}"${dash}/>`);
  }
  fillRect(x, y, w, h) {
    this.beginPath();
    this.rect(x, y, w, h);
    this.fill();
  }
  fillText(text, x, y) {
    const anchor = { left: 'start', center: 'middle', right: 'end' }[this.textAlign];
    const baseline = { top: 'hanging', middle: 'central', alphabetic: 'auto' }[this.textBaseline];
    this.parts.push(`<text x="${short(x)}" y="${short(y)}" fill="${this.fillStyle}" text-anchor="${anchor}" dominant-baseline="${baseline}" style="font:${escape(this.font)}">${escape(text)}</text>`);
  }
  text() {
    const { width, height } = this;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">\n${this.parts.join('\n')}\n</svg>\n`;
  }
}

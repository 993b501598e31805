// The heat map: how much is sampled at each offset within each second, or a power of ten of
// it; and the histogram of the values of single samples. Dragging over them selects.

const heatRows = 50, mostHeatColumns = 400;

// heatStep is how long a column is, in ns: a second, or shorter or longer where there would
// be few or very many of them.
function heatStep(duration) {
  let step = 1e9;
  while (duration / step < 8 && step > 1e3) step /= 10;
  while (duration / step > mostHeatColumns) step *= 10;
  return step;
}

// countHeat counts samples' values by column and offset.
function* countHeat(samples, time, part, duration) {
  const step = heatStep(duration), columns = Math.floor(duration / step) + 1;
  const cells = new Float64Array(columns * heatRows);
  yield* slices(0, samples.length, (i, to) => {
    for (; i < to; i++) {
      const m = samples[i], column = Math.floor(time[m] / step);
      cells[column * heatRows + Math.min(Math.floor((time[m] / step - column) * heatRows), heatRows - 1)] += part(m);
    }
  });
  return { step, columns, cells, most: cells.reduce((a, b) => Math.max(a, Math.abs(b)), 0) };
}

class HeatMap {
  constructor(host, onSelect) {
    this.host = host;
    this.onSelect = onSelect;
    this.colors = palette(false);
    this.at = [0, 0]; // the cell that keys go on from
    this.canvas = element('canvas', { tabIndex: 0 });
    this.canvas.setAttribute('role', 'img');
    host.append(this.canvas);
    this.context = this.canvas.getContext('2d');
    this.canvas.addEventListener('pointerdown', (e) => {
      if (e.button !== 0 || !this.heat) return;
      this.canvas.setPointerCapture(e.pointerId);
      this.drag = { from: this.cellAt(e), to: this.cellAt(e), x: e.offsetX, y: e.offsetY };
    });
    this.canvas.addEventListener('pointercancel', () => { this.drag = null; this.draw(); });
    this.canvas.addEventListener('pointermove', (e) => this.move(e));
    this.canvas.addEventListener('pointerup', () => this.endDrag());
    this.canvas.addEventListener('keydown', (e) => this.key(e));
    new ResizeObserver(() => this.draw()).observe(host);
  }

  show(heat, span, unit) {
    this.heat = heat;
    this.span = span;
    this.unit = unit;
    this.canvas.setAttribute('aria-label', `Heat map: ${formatTime(heat.step)} a column, offsets upwards; arrows move, Shift and arrows select${span ? `; ${formatTime(span[0])} to ${formatTime(span[1])} selected` : ''}`);
    this.draw();
  }

  draw() {
    const width = this.host.clientWidth, height = this.host.clientHeight, { context: c, heat, colors } = this;
    if (!heat || !width || !height) return;
    const ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.height = height - stripAxis;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = cssColor(colors.ground);
    c.fillRect(0, 0, width, height);
    const w = width / heat.columns, h = this.height / heatRows;
    const hot = colors.fills[kernelKind * shades + middleShade];
    c.fillStyle = cssColor(hot);
    for (let i = 0; i < heat.cells.length; i++) {
      if (!heat.cells[i]) continue;
      c.globalAlpha = 0.12 + 0.88 * Math.sqrt(Math.abs(heat.cells[i]) / heat.most);
      c.fillRect(Math.floor(i / heatRows) * w, this.height - (i % heatRows + 1) * h, Math.max(w - 0.5, 0.5), Math.max(h - 0.5, 0.5));
    }
    c.globalAlpha = 1;
    this.mark(this.drag ? this.spanOf(this.drag.from, this.drag.to) : this.span, w, h);
    const [column, row] = this.at;
    c.strokeStyle = colors.text;
    if (document.activeElement === this.canvas) c.strokeRect(column * w, this.height - (row + 1) * h, w, h);
    c.font = '10px system-ui, sans-serif';
    c.textBaseline = 'middle';
    c.fillStyle = colors.axis;
    const text = `↑ ${formatTime(heat.step)} a column`, right = width - c.measureText(text).width - 4; // what upwards means
    c.fillText(text, right, height - stripAxis / 2);
    for (let x = 0, from = -100; x < heat.columns; x++) {
      if (x * w < from + 70 || x * w + 70 > right) continue;
      from = x * w;
      c.fillText(formatTime(x * heat.step), x * w + 2, height - stripAxis / 2);
    }
  }

  // mark frames the cells of a span of time.
  mark(span, w, h) {
    if (!span) return;
    const { context: c, heat: { step, columns }, colors } = this;
    c.fillStyle = cssColor(colors.match);
    const edge = (x, y, width, height) => c.fillRect(x, y, width, height);
    for (let column = Math.floor(span[0] / step); column < columns && column * step <= span[1]; column++) {
      const low = Math.max(span[0] / step - column, 0) * heatRows, high = Math.min(Math.max((span[1] + 1) / step - column, 0), 1) * heatRows;
      const y = this.height - high * h, x = column * w;
      edge(x, y, w, 1.5);
      edge(x, this.height - low * h - 1.5, w, 1.5);
      if (low > 0 || column * step <= span[0]) edge(x, y, 1.5, (high - low) * h);
      if (high < heatRows || (column + 1) * step > span[1]) edge(x + w - 1.5, y, 1.5, (high - low) * h);
    }
  }

  cellAt(e) {
    const clamp = (v, n) => Math.min(Math.max(Math.floor(v), 0), n - 1);
    return [clamp(e.offsetX / this.width * this.heat.columns, this.heat.columns), clamp((1 - e.offsetY / this.height) * heatRows, heatRows)];
  }

  // spanOf is the time from one cell to another, whichever comes first.
  spanOf(a, b) {
    const { step } = this.heat, number = ([column, row]) => column * heatRows + row;
    const [from, to] = number(a) < number(b) ? [a, b] : [b, a];
    const time = ([column, row], more) => Math.ceil((column + (row + more) / heatRows) * step);
    return [time(from, 0), time(to, 1) - 1];
  }

  move(e) {
    if (!this.heat) return;
    const [column, row] = this.cellAt(e);
    const sum = this.heat.cells[column * heatRows + row];
    this.canvas.title = `${formatTime(this.spanOf([column, row], [column, row])[0])}: ${formatValue(sum, this.unit)}`;
    if (!this.drag) return;
    this.drag.to = [column, row];
    this.drag.moved ||= Math.hypot(e.offsetX - this.drag.x, e.offsetY - this.drag.y) > 3; // perhaps in one cell
    this.draw();
  }

  endDrag() {
    const { drag } = this;
    this.drag = null;
    if (drag) this.onSelect(drag.moved ? this.spanOf(drag.from, drag.to) : null);
  }

  key(e) {
    const by = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[e.key];
    if (!by || !this.heat) return;
    e.preventDefault();
    e.stopPropagation();
    const from = this.at, { columns } = this.heat;
    this.at = [Math.min(Math.max(from[0] + by[0], 0), columns - 1), Math.min(Math.max(from[1] + by[1], 0), heatRows - 1)];
    if (e.shiftKey) this.onSelect(this.spanOf(this.anchor ??= from, this.at));
    else this.anchor = null;
    this.draw();
  }
}

// histogram is the samples by the size of their values, in ranges of powers of two: [{from,
// to, count, sum}] with to not included; 0 and what is below have one of their own.
function* histogram(samples, value) {
  const found = new Map();
  yield* slices(0, samples.length, (i, to) => {
    for (; i < to; i++) {
      const v = value(samples[i]), exponent = v >= 1 ? Math.floor(Math.log2(v)) : -1;
      let bar = found.get(exponent);
      if (!bar) found.set(exponent, bar = { count: 0, sum: 0 });
      bar.count++;
      bar.sum += v;
    }
  });
  if (!found.size) return [];
  const first = Math.min(...found.keys()), last = Math.max(...found.keys());
  return Array.from({ length: last - first + 1 }, (_, i) => {
    const e = first + i;
    return { from: e < 0 ? 0 : 2 ** e, to: 2 ** (e + 1), ...found.get(e) ?? { count: 0, sum: 0 } };
  });
}

// fillHistogram shows bars as a table, each of which selects its values.
function fillHistogram(host, bars, sizes, unit, onSelect) {
  const most = bars.reduce((a, b) => Math.max(a, b.count), 1), all = bars.reduce((a, b) => a + b.count, 0);
  const head = element('tr', {}, ...['Values', 'Samples', '', 'Share', 'Sum'].map((text) => element('th', { textContent: text, scope: 'col' })));
  const rows = bars.map(({ from, to, count, sum }) => {
    const chosen = sizes && sizes[0] === from && sizes[1] === to;
    const button = element('button', { type: 'button', textContent: `${formatValue(from, unit)} – ${formatValue(to, unit)}`, onclick: () => onSelect(chosen ? null : [from, to]) });
    button.setAttribute('aria-pressed', Boolean(chosen));
    const bar = element('b', { className: 'bar' });
    bar.style.width = `${100 * count / most}%`;
    const slower = element('button', { type: 'button', className: 'from', textContent: '≥', title: `Only values from ${formatValue(from, unit)} on`, onclick: () => onSelect([from, Infinity]) });
    return element('tr', {}, element('td', {}, button, slower), element('td', { textContent: wholeNumber.format(count) }),
      element('td', { className: 'bars' }, bar), element('td', { textContent: formatShare(count, all) }), element('td', { textContent: formatValue(sum, unit) }));
  });
  host.replaceChildren(element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows)));
}

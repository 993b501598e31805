// The strip above every view: how much is sampled when, by kind of code, of all and of
// the busiest values of a label; dragging over it selects a span of time.

const inBar = 8, leastBars = 20; // samples in a bar on average, and bars of few samples
const stripBars = 34, stripLane = 12, stripAxis = 16, mostLanes = 6, fewLanes = 2, unfoldedLanes = 60;

class TimeStrip {
  /** @type {((bins: number) => { bins: number, kinds: Float64Array, lanes: { text: string, sums: Float64Array }[], folded: number }) | null} */ count = null;
  /** @type {number[] | null} */ span = null;
  duration = 1;
  samples = 0;

  // onSelect is called with [from, to] or null, and whether that is on the way to another;
  // onFold to show more lanes, or few.
  constructor(host, onSelect, onFold) {
    this.host = host;
    this.onSelect = onSelect;
    this.colors = palette(false);
    this.canvas = element('canvas', { tabIndex: 0, height: 0 });
    this.canvas.setAttribute('role', 'img');
    this.more = element('button', { type: 'button', hidden: true, onclick: onFold });
    host.append(this.canvas, this.more);
    this.context = this.canvas.getContext('2d');
    this.canvas.addEventListener('pointerdown', (e) => this.startDrag(e));
    this.canvas.addEventListener('pointermove', (e) => this.moveDrag(e));
    this.canvas.addEventListener('pointerup', () => this.endDrag());
    this.canvas.addEventListener('pointercancel', () => { this.drag = null; this.draw(); });
    this.canvas.addEventListener('keydown', (e) => this.key(e));
    this.canvas.addEventListener('wheel', (e) => this.wheel(e), { passive: false });
    new ResizeObserver(() => this.resize()).observe(host);
  }

  // show draws bars that count(bins) gives: {bins, kinds: sums by bin and kind, lanes:
  // [{text, sums}], folded: number of lanes that are not shown}, of a time that long and so many
  // samples, with a span selected or null.
  show(count, duration, samples, span, unfolded) {
    Object.assign(this, { count, duration, samples, span });
    this.host.classList.toggle('unfolded', unfolded);
    this.more.setAttribute('aria-expanded', unfolded);
    this.canvas.setAttribute('aria-label', span ? `Activity over time, ${this.text(span)} selected` : 'Activity over time, all selected; arrows, + and - select a part');
    this.resize();
  }

  // binsFor is how many bins are drawn of so many samples.
  binsFor(samples) { return Math.max(Math.floor(Math.min(this.host.clientWidth / 2, Math.max(samples / inBar, leastBars))), 1); }

  text([from, to]) { return `${formatTime(from)} to ${formatTime(to)}`; }

  resize() {
    const width = this.host.clientWidth, ratio = window.devicePixelRatio || 1;
    if (!width || !this.count) return;
    this.width = width;
    this.data = this.count(this.binsFor(this.samples));
    const unfolded = this.host.classList.contains('unfolded');
    this.more.hidden = !unfolded && !this.data.folded;
    const folded = wholeNumber.format(this.data.folded);
    this.more.textContent = !unfolded ? `${folded} more` : this.data.folded ? `fewer; ${folded} not shown` : 'fewer';
    this.more.title = unfolded ? 'Only the busiest' : 'Show those that are less busy too';
    this.height = stripBars + this.data.lanes.length * stripLane + stripAxis;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.draw();
  }

  draw() {
    const { context: c, data, colors, width, height } = this;
    if (!data) return;
    c.fillStyle = cssColor(colors.ground);
    c.fillRect(0, 0, width, height);
    const n = frameKinds.length;
    let most = 0;
    for (let b = 0; b < data.bins; b++) {
      let sum = 0;
      for (let k = 0; k < n; k++) sum += data.kinds[b * n + k];
      most = Math.max(most, sum);
    }
    const ratio = window.devicePixelRatio || 1, edge = (b) => Math.round(b / data.bins * width * ratio) / ratio; // so that bars have no seams
    for (let b = 0; b < data.bins && most > 0; b++) {
      let y = stripBars;
      for (let k = 0; k < n; k++) {
        const h = data.kinds[b * n + k] / most * (stripBars - 2);
        if (!h) continue;
        c.fillStyle = cssColor(colors.fills[k * shades + middleShade]);
        c.fillRect(edge(b), y - h, edge(b + 1) - edge(b), h);
        y -= h;
      }
    }
    this.drawLanes(edge);
    this.drawAxis();
    this.drawSpan(this.drag?.span ?? this.span);
  }

  // drawLanes draws a row for each value, the darker the more there is at a time.
  drawLanes(edge) {
    const { context: c, data, colors } = this;
    c.font = '10px system-ui, sans-serif';
    c.textBaseline = 'middle';
    data.lanes.forEach((lane, i) => {
      const y = stripBars + i * stripLane;
      const most = lane.sums.reduce((a, b) => Math.max(a, b), 0);
      c.fillStyle = cssColor(colors.fills[groupKind * shades + middleShade]);
      lane.sums.forEach((sum, b) => {
        if (!sum) return;
        c.globalAlpha = 0.25 + 0.75 * sum / most;
        c.fillRect(edge(b), y + 1, edge(b + 1) - edge(b), stripLane - 2);
      });
      c.globalAlpha = 1;
      const text = lane.text, textWidth = c.measureText(text).width;
      c.fillStyle = cssColor(colors.ground);
      c.globalAlpha = 0.75;
      c.fillRect(0, y + 1, textWidth + 8, stripLane - 2);
      c.globalAlpha = 1;
      c.fillStyle = colors.text;
      c.fillText(text, 4, y + stripLane / 2);
    });
  }

  drawAxis() {
    const { context: c, width, height, duration, colors } = this;
    c.font = '10px system-ui, sans-serif';
    c.textBaseline = 'middle';
    c.fillStyle = colors.axis;
    const about = duration / Math.max(width / 110, 1), power = 10 ** Math.floor(Math.log10(about));
    const step = Math.max([1, 2, 5, 10].map((f) => f * power).find((s) => s >= about), 1);
    for (let t = 0; t <= duration; t += step) {
      const x = t / duration * width, text = formatTime(t);
      c.fillRect(Math.round(x), height - stripAxis, 1, 4);
      if (x + 4 + c.measureText(text).width < width) c.fillText(text, x + 4, height - stripAxis / 2);
    }
  }

  // drawSpan fades what is not selected.
  drawSpan(span) {
    if (!span) return;
    const { context: c, width, height, colors } = this;
    const [left, right] = span.map((t) => t / this.duration * width);
    c.fillStyle = cssColor(colors.ground);
    c.globalAlpha = 0.7;
    c.fillRect(0, 0, left, height - stripAxis);
    c.fillRect(right, 0, width - right, height - stripAxis);
    c.globalAlpha = 1;
    c.fillStyle = colors.axis;
    c.fillRect(left - 1, 0, 2, height - stripAxis);
    c.fillRect(right - 1, 0, 2, height - stripAxis);
  }

  timeAt(x) { return Math.round(Math.min(Math.max(x / this.width, 0), 1) * this.duration); }

  startDrag(e) {
    if (e.button !== 0) return;
    this.canvas.setPointerCapture(e.pointerId);
    this.drag = { x: e.offsetX, span: null };
  }

  moveDrag(e) {
    const { drag } = this;
    this.canvas.title = this.data ? formatTime(this.timeAt(e.offsetX)) : '';
    if (!drag || !drag.span && Math.abs(e.offsetX - drag.x) < 3) return;
    const [a, b] = [drag.x, e.offsetX].map((x) => this.timeAt(x));
    drag.span = [Math.min(a, b), Math.max(a, b)];
    this.draw();
  }

  // endDrag selects what was dragged over; a click selects all again.
  endDrag() {
    const { drag } = this;
    this.drag = null;
    if (drag) this.onSelect(drag.span);
  }

  // zoom selects that many times what is selected, around a time.
  zoom(factor, time) {
    const [from, to] = this.span ?? [0, this.duration], at = Math.min(Math.max(time, from), to);
    const span = [from, to].map((t) => Math.round(Math.min(Math.max(at + (t - at) * factor, 0), this.duration)));
    if (span[1] > span[0]) this.onSelect(span[1] - span[0] < this.duration ? span : null, true);
  }

  // The wheel zooms; where there are more rows than fit, it does with Ctrl, and scrolls without.
  wheel(e) {
    if (!this.data || !e.deltaY || !e.ctrlKey && this.host.scrollHeight > this.host.clientHeight + 1) return;
    e.preventDefault();
    this.zoom(Math.exp(Math.min(Math.max(e.deltaY, -200), 200) * 0.004), this.timeAt(e.offsetX));
  }

  // key moves what is selected with the arrows; with Shift it moves the end; plus and minus zoom.
  key(e) {
    const zoom = { '+': 0.5, '=': 0.5, '-': 2 }[e.key];
    if (zoom && this.data && !e.ctrlKey && !e.metaKey && !e.altKey) {
      const [from, to] = this.span ?? [0, this.duration];
      this.zoom(zoom, (from + to) / 2);
      e.preventDefault();
      e.stopPropagation();
      return;
    }
    const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!by || !this.data) return;
    e.preventDefault();
    e.stopPropagation();
    const step = Math.max(Math.round(this.duration / 20), 1);
    let [from, to] = this.span ?? (by > 0 ? [-step, 0] : [this.duration, this.duration + step]);
    if (!e.shiftKey) from += by * step;
    to += by * step;
    const size = Math.max(to - from, 1);
    from = Math.min(Math.max(from, 0), Math.max(this.duration - size, 0));
    this.onSelect([from, Math.min(from + size, this.duration)]);
  }
}

// countTime counts values by time: {bins, kinds, lanes} as TimeStrip.show has it; kindOf
// is that of a row, lanes are the label values to count apart, with their texts.
function* countTime(p, { rowNode }, event, column, mask, bins, duration, kindOf, key, lanes, folded, inSizes) {
  const n = frameKinds.length;
  const kinds = new Float64Array(bins * n);
  const of = key < 0 ? null : labelValues(p, key);
  const at = new Map(lanes.map(([value], i) => [value, i]));
  const sums = lanes.map(() => new Float64Array(bins));
  const { time, row } = p.moments;
  const part = momentValue(p, event, column);
  yield* slices(0, row.length, (i, to) => {
    for (; i < to; i++) {
      const r = row[i];
      if (r < event.from || r >= event.to || !mask[p.rowLabels[r]] || rowNode[r] === noNode || !inSizes(i)) continue;
      const bin = Math.min(Math.floor(time[i] / duration * bins), bins - 1);
      const value = part(i);
      kinds[bin * n + kindOf(r)] += value;
      const lane = of && at.get(of[p.rowLabels[r]]);
      if (lane !== undefined && lane !== null) sums[lane][bin] += value;
    }
  });
  return { bins, kinds, lanes: lanes.map(([, text], i) => ({ text, sums: sums[i] })), folded };
}

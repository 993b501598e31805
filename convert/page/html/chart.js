// A chart draws a layout on a canvas that stays in view while its frame scrolls.

const rowHeight = 19, textInset = 4, axisHeight = 20;
const frameFont = '12px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
const moveTime = 160; // ms
const aim = 2; // CSS pixels by which a pointer may miss a box that has nothing beside it
const mostMixed = 6; // boxes of one pixel whose colours are looked at

class Chart {
  /** @type {Layout | null} */ layout = null;
  /** @type {Tree | null} */ tree = null;
  /** @type {((node: number, frame: number) => number[]) | null} */ tint = null; // colours of another kind
  /** @type {(() => void) | null} */ onRange = null; // called when the reader has moved what is shown
  /** @type {Sums | null} */ sums = null; // what the details of a box are taken from
  letter = 0; // width of one

  // host is the element to fill; frames what the chart asks of the profile:
  // root, text(frame), mark(frame), kind(frame), shade(frame), matches(frame), searching().
  constructor(host, frames, { upward, onPick, onHover, label }) {
    this.frames = frames;
    this.upward = upward; // the root at the bottom
    this.onPick = onPick;
    this.onHover = onHover;
    this.colors = palette(false);
    this.hovered = this.selected = null; // {level, i}
    this.labels = []; // what was written last: {node, x, width, text, textWidth}

    this.canvas = element('canvas', { tabIndex: 0 });
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', label);
    this.outline = element('div', { className: 'outline selected', hidden: true });
    this.hover = element('div', { className: 'outline hovered', hidden: true });
    this.sticky = element('div', { className: 'sticky' }, this.canvas, this.hover, this.outline);
    this.spacer = element('div', { className: 'spacer' }, this.sticky);
    this.scroller = element('div', { className: 'scroller' }, this.spacer);
    host.append(this.scroller);
    this.context = this.canvas.getContext('2d');
    this.pixels = new PixelRows();
    this.listen();
  }

  listen() {
    this.scroller.addEventListener('scroll', () => {
      this.rememberPlace();
      this.redraw();
    });
    this.canvas.addEventListener('pointermove', (e) => this.pointerAt(e));
    this.canvas.addEventListener('pointerleave', () => this.setHovered(null));
    this.canvas.addEventListener('pointerdown', (e) => this.startDrag(e));
    this.canvas.addEventListener('pointerup', (e) => this.endDrag(e));
    this.canvas.addEventListener('pointercancel', () => { this.drag = null; });
    this.canvas.addEventListener('wheel', (e) => this.wheel(e), { passive: false });
    new ResizeObserver(() => { if (this.isResized()) this.resize(); }).observe(this.scroller);
  }

  // show draws a layout. tree says which frame a node has; axis, if given, writes
  // a position along the x axis.
  show(layout, tree, { range = null, axis = null, faded = -1, all = true } = {}) {
    this.layout = layout;
    this.tree = tree;
    this.all = all; // the root is everything, and not a frame
    this.axis = axis;
    this.faded = faded; // the level below which boxes are only the way to what is shown
    this.range = range ?? [layout.min, layout.max];
    this.hovered = this.selected = null;
    this.moving = null;
    this.fromRoot = 0;
    this.resize();
  }

  // isResized tells whether what is drawn is of another size, or nothing because it was hidden.
  isResized() {
    const { clientWidth, clientHeight } = this.scroller;
    return clientWidth !== this.width || clientHeight !== this.height || this.canvas.width !== Math.round(clientWidth * (window.devicePixelRatio || 1));
  }

  resize() {
    const width = this.width = this.scroller.clientWidth, height = this.height = this.scroller.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    if (!width || !height) return; // hidden
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (this.layout) {
      const content = this.layout.levels * rowHeight + this.top() + 2;
      this.spacer.style.height = `${Math.max(content, height)}px`;
      this.restorePlace();
    }
    this.draw();
  }

  // The distance from the root stays what it was when a chart changes its size or
  // has been hidden.
  rememberPlace() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    if (clientHeight) this.fromRoot = this.upward ? scrollHeight - clientHeight - scrollTop : scrollTop;
  }

  restorePlace() {
    const { scrollHeight, clientHeight } = this.scroller;
    this.scroller.scrollTop = this.upward ? scrollHeight - clientHeight - this.fromRoot : this.fromRoot;
  }

  top() { return this.axis ? axisHeight : 0; }

  // y of a level's boxes in the canvas.
  y(level) {
    const content = Math.max(this.spacer.offsetHeight, this.height);
    const down = this.upward ? content - (level + 1) * rowHeight : this.top() + level * rowHeight;
    return down - this.scroller.scrollTop;
  }

  levelAt(y) {
    const content = Math.max(this.spacer.offsetHeight, this.height);
    const down = y + this.scroller.scrollTop;
    return Math.floor((this.upward ? content - down : down - this.top()) / rowHeight);
  }

  x(position) { return (position - this.range[0]) / (this.range[1] - this.range[0]) * this.width; }

  positionAt(x) { return this.range[0] + x / this.width * (this.range[1] - this.range[0]); }

  redraw() {
    this.pending ??= requestAnimationFrame((now) => {
      this.pending = null;
      this.step(now);
      this.draw();
    });
  }

  // moveTo changes the range that is shown, smoothly where the reader likes it so.
  moveTo(range, faded = -1) {
    this.faded = faded;
    this.setHovered(null);
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    if (still || this.range[0] === range[0] && this.range[1] === range[1]) {
      this.range = range;
      this.moving = null;
    } else {
      this.moving = { from: this.range, to: range, start: null };
    }
    this.redraw();
  }

  step(now) {
    if (!this.moving) return;
    const { from, to } = this.moving;
    this.moving.start ??= now;
    const t = Math.min((now - this.moving.start) / moveTime, 1);
    const k = 1 - (1 - t) ** 3;
    this.range = t === 1 ? to : [from[0] + (to[0] - from[0]) * k, from[1] + (to[1] - from[1]) * k];
    if (t === 1) this.moving = null;
    else this.redraw();
  }

  // settled tells whether what is drawn is what was asked for.
  get settled() { return !this.moving && !this.pending; }

  draw() {
    const { context: c, layout } = this;
    c.fillStyle = cssColor(this.colors.ground);
    c.fillRect(0, 0, this.width, this.height);
    this.labels = [];
    if (!layout || !this.width) return;
    c.font = frameFont;
    c.textBaseline = 'middle';
    c.direction = 'ltr';
    this.letter ||= c.measureText('m').width;
    const a = this.levelAt(0), b = this.levelAt(this.height);
    const low = Math.max(Math.min(a, b), 0), high = Math.min(Math.max(a, b), layout.levels - 1);
    this.pixels.begin(this.canvas.width, high - low + 1, this.colors.ground);
    const labels = [];
    this.narrowColors = [];
    for (let level = low; level <= high; level++) this.mixLevel(level, level - low, labels);
    this.pixels.paint(high - low + 1);
    for (let level = low; level <= high; level++) this.pixels.drawRow(c, level - low, this.y(level), this.width, rowHeight - 1);
    for (const label of labels) this.drawLabel(...label);
    if (this.axis) this.drawAxis();
    this.place(this.outline, this.selected);
    this.place(this.hover, this.hovered);
  }

  // mixLevel mixes the pixels of a level, and lists what is to be written on its boxes.
  // Pixels in which more boxes lie than can be looked at are covered as much as they are,
  // in the colours of some of them.
  mixLevel(level, row, labels) {
    const { layout, frames, tree, colors, pixels } = this;
    const { x0, x1, node } = layout;
    const filled = filledUpTo(layout);
    const [from, to] = this.range;
    const columns = pixels.width, k = columns / (to - from), ratio = columns / this.width;
    const y = this.y(level), end = layout.start[level + 1];
    const fills = level < this.faded ? colors.faded : colors.fills;
    const narrowColors = this.tint ? null : level === 0 ? [] : this.narrowColors; // by frame
    const colorOf = (i, narrow) => {
      const frame = tree.frame[node[i]];
      return narrow && narrowColors ? narrowColors[frame] ??= fullColorOf(i, true) : fullColorOf(i, narrow);
    };
    const fullColorOf = (i, narrow) => {
      const root = level === 0 && this.all, frame = tree.frame[node[i]];
      const hit = root ? 0 : frames.matches(frame);
      if (hit > 0) return colors.match;
      if (this.tint && hit === 0 && !root) return this.tint(node[i], frame);
      return (hit < 0 ? colors.faded : fills)[(root ? groupKind : frames.kind(frame)) * shades + (narrow || root ? middleShade : frames.shade(frame))];
    };
    let i = firstAfter(layout, layout.start[level], end, from);
    while (i < end && x0[i] < to) {
      const left = Math.max((x0[i] - from) * k, 0), right = Math.min((x1[i] - from) * k, columns);
      if (right - left >= 1) {
        pixels.box(left, right, colorOf(i, false));
        if (right - left > 3 * ratio) pixels.darken(Math.ceil(right) - 1, colors.edge);
        if ((right - left) / ratio > 3 * this.letter) {
          const root = level === 0 && this.all, frame = tree.frame[node[i]];
          const plain = root || !this.frames.searching() || frames.matches(frame) > 0;
          labels.push([root ? frames.root : frames.text(frame), root ? '' : frames.mark(frame), node[i], left / ratio, y, (right - left) / ratio,
            plain && fills === colors.fills ? colors.text : colors.fadedText]);
        }
        i++;
        continue;
      }
      // Boxes that lie within one pixel.
      const x = Math.min(Math.floor(left), columns - 1);
      const next = firstAfter(layout, i, end, from + (x + 1) / k);
      if (next === i) { // lies on the edge of two
        pixels.box(left, right, colorOf(i, true));
        i++;
        continue;
      }
      const clipped = Math.max(from - x0[i], 0); // of the first, left of what is shown
      const cover = (filled[next] - filled[i] - clipped) * k;
      const step = Math.max((next - i) / mostMixed, 1);
      let looked = 0;
      for (let j = i; j < next; j += step) looked += x1[Math.floor(j)] - x0[Math.floor(j)];
      for (let j = i; j < next && looked > 0; j += step) {
        const at = Math.floor(j);
        pixels.part(x, cover * (x1[at] - x0[at]) / looked, colorOf(at, true), 1);
      }
      i = next;
    }
    pixels.end(row);
  }

  drawLabel(name, mark, node, x, y, width, color) {
    const c = this.context;
    c.fillStyle = color;
    let inset = textInset;
    if (mark && width > 6 * this.letter) {
      c.globalAlpha = 0.55;
      c.fillText(mark, x + inset, y + rowHeight / 2);
      c.globalAlpha = 1;
      inset += 1.6 * this.letter;
    }
    const text = this.fit(name, width - inset - textInset);
    if (!text) return;
    c.fillText(text, x + inset, y + rowHeight / 2);
    this.labels.push({ node, x, inset, width, text, textWidth: this.measure(text) });
  }

  measure(text) {
    return /^[ -~]*$/.test(text) ? text.length * this.letter : this.context.measureText(text).width;
  }

  // fit cuts a name to a width: first the path that names of Go have in front.
  fit(name, width) {
    if (name.length * this.letter <= 4 * width && this.measure(name) <= width) return name; // an emoji may be of eight
    const path = /^[^(<[ ]*\/(?=.*\.)/.exec(name);
    if (path) return this.fit(name.slice(path[0].length), width);
    const most = Math.floor(width / this.letter * 2) + 2;
    const characters = Array.from(name.slice(0, most));
    let low = 0, high = characters.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.measure(`${characters.slice(0, middle).join('')}…`) <= width) low = middle;
      else high = middle - 1;
    }
    return low < 2 ? '' : `${characters.slice(0, low).join('')}…`;
  }

  drawAxis() {
    const { context: c, colors } = this;
    c.fillStyle = cssColor(colors.ground);
    c.fillRect(0, 0, this.width, axisHeight);
    c.fillStyle = colors.axis;
    const span = this.range[1] - this.range[0];
    const about = span / Math.max(this.width / 110, 1);
    const power = 10 ** Math.floor(Math.log10(about));
    const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= about);
    for (let t = Math.ceil(this.range[0] / step) * step; t <= this.range[1]; t += step) {
      const x = this.x(t);
      c.fillRect(Math.round(x), axisHeight - 6, 1, 5);
      const text = this.axis(t);
      if (x + 4 + this.measure(text) < this.width) c.fillText(text, x + 4, axisHeight / 2);
    }
  }

  // place puts an outline around a box, where it can be seen.
  place(outline, box) {
    outline.hidden = true;
    if (!box || !this.layout) return;
    const left = Math.max(this.x(this.layout.x0[box.i]), 0);
    const right = Math.min(this.x(this.layout.x1[box.i]), this.width);
    const y = this.y(box.level);
    if (right < 0 || left > this.width || y + rowHeight < this.top() || y > this.height) return;
    outline.hidden = false;
    outline.style.transform = `translate(${left}px, ${y}px)`;
    outline.style.width = `${Math.max(right - left - 0.5, 2)}px`;
    outline.style.height = `${rowHeight - 1}px`;
  }

  // boxAt is the box under a point of the canvas, else the nearest one within what a pointer can
  // aim at, as boxes may be narrower than a pixel and stand alone; null if there is none.
  boxAt(x, y) {
    const { layout } = this;
    const level = this.levelAt(y);
    if (!layout || level < 0 || level >= layout.levels || y < this.top()) return null;
    const position = this.positionAt(x), first = layout.start[level], end = layout.start[level + 1];
    const i = firstAfter(layout, first, end, position);
    if (i < end && layout.x0[i] <= position) return { level, i };
    const after = i < end ? this.x(layout.x0[i]) - x : Infinity, before = i > first ? x - this.x(layout.x1[i - 1]) : Infinity;
    if (Math.min(after, before) > aim) return null;
    return { level, i: after < before ? i : i - 1 };
  }

  pointerAt(e) {
    if (this.drag) {
      this.pan(e);
      return;
    }
    if (e.pointerType !== 'touch') this.setHovered(this.boxAt(e.offsetX, e.offsetY), e);
  }

  setHovered(box, e = null) {
    this.hovered = box;
    this.place(this.hover, box);
    this.canvas.style.cursor = box ? 'pointer' : '';
    this.onHover(this, box, e);
  }

  // Dragging moves what is shown, once the pointer has gone a few pixels; a finger
  // that goes up or down scrolls, as the browser does it.
  startDrag(e) {
    if (e.button === 0) this.drag = { x: e.offsetX, y: e.offsetY, range: this.range, moved: false };
  }

  pan(e) {
    const d = this.drag;
    const by = e.offsetX - d.x;
    if (!d.moved && Math.abs(by) < 5) return;
    if (!d.moved) this.canvas.setPointerCapture(e.pointerId);
    d.moved = true;
    const size = d.range[1] - d.range[0];
    this.setRange(d.range[0] - by / this.width * size, size);
  }

  endDrag(e) {
    const d = this.drag;
    this.drag = null;
    if (!d) return;
    if (d.moved) {
      this.onRange?.();
      return;
    }
    const box = this.boxAt(e.offsetX, e.offsetY);
    if (box) this.onPick(this, box, e);
  }

  setRange(from, size) {
    const { min, max } = this.layout;
    size = Math.min(size, max - min);
    from = Math.min(Math.max(from, min), max - size);
    this.range = [from, from + size];
    this.faded = -1;
    this.moving = null;
    this.redraw();
  }

  // The wheel scrolls; with Ctrl it zooms around the pointer, sideways it pans.
  wheel(e) {
    if (!this.layout) return;
    const size = this.range[1] - this.range[0];
    if (e.ctrlKey || e.metaKey) {
      e.preventDefault();
      const at = this.positionAt(e.offsetX);
      const smallest = (this.layout.max - this.layout.min) * 1e-9;
      const next = Math.max(size * Math.exp(e.deltaY * 0.004), smallest);
      this.setRange(at - e.offsetX / this.width * next, next);
      this.onRange?.();
    } else if (e.deltaX || e.shiftKey) {
      e.preventDefault();
      this.setRange(this.range[0] + (e.deltaX || e.deltaY) / this.width * size, size);
      this.onRange?.();
    }
  }

  // reveal scrolls until a level can be seen.
  reveal(level) {
    const y = this.y(level);
    if (y < this.top()) this.scroller.scrollTop += y - this.top() - rowHeight;
    else if (y + rowHeight > this.height) this.scroller.scrollTop += y + 2 * rowHeight - this.height;
    this.redraw();
  }

  // walk selects the next box in a direction: in, out, left or right.
  walk(direction) {
    const { layout } = this;
    if (!layout || !layout.levels) return;
    if (!this.selected) {
      this.selected = { level: 0, i: 0 };
    } else {
      const { level, i } = this.selected;
      const next = this.neighbour(direction, level, i);
      if (next) this.selected = next;
    }
    this.reveal(this.selected.level);
    this.onHover(this, this.selected, null);
  }

  neighbour(direction, level, i) {
    const { layout } = this;
    if (direction === 'left') return i > layout.start[level] ? { level, i: i - 1 } : null;
    if (direction === 'right') return i + 1 < layout.start[level + 1] ? { level, i: i + 1 } : null;
    if (direction === 'out') {
      const up = parentBox(layout, level, i);
      return up >= 0 ? { level: level - 1, i: up } : null;
    }
    if (level + 1 >= layout.levels) return null;
    const end = layout.start[level + 2];
    const child = firstAfter(layout, layout.start[level + 1], end, layout.x0[i]);
    return child < end && layout.x0[child] < layout.x1[i] ? { level: level + 1, i: child } : null;
  }
}

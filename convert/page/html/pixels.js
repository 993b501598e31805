// Pixels of a chart: each is as much of a box's colour as the box covers of it.

// PixelRows collects the boxes of some levels, a row of pixels each, and paints them.
// Boxes of one level do not overlap, so that the parts of a pixel that they cover add
// up; painted one over the other, as a canvas does it, they would not.
class PixelRows {
  constructor() {
    this.canvas = document.createElement('canvas');
    this.context = this.canvas.getContext('2d', { willReadFrequently: true });
  }

  // begin makes room for rows of so many pixels of a ground.
  begin(width, rows, ground) {
    if (this.canvas.width !== width || this.canvas.height < rows || !this.image) {
      this.canvas.width = width;
      this.canvas.height = Math.max(rows, 1);
      this.image = this.context.createImageData(width, Math.max(rows, 1));
      this.mixed = new Float32Array(4 * width); // red, green, blue, and how much is covered
    }
    this.ground = ground;
    this.width = width;
  }

  // box adds what a box from left to right covers, in pixels within the row.
  box(left, right, color) {
    const first = Math.floor(left), last = Math.min(Math.ceil(right), this.width) - 1;
    for (let x = first; x <= last; x++) this.part(x, Math.min(right, x + 1) - Math.max(left, x), color, 1);
  }

  // part adds a part of one pixel, in a shade of a colour.
  part(x, cover, color, shade) {
    const m = this.mixed, at = 4 * x;
    m[at] += color[0] * shade * cover;
    m[at + 1] += color[1] * shade * cover;
    m[at + 2] += color[2] * shade * cover;
    m[at + 3] += cover;
  }

  // darken makes a pixel that is covered darker.
  darken(x, shade) {
    for (let i = 0; i < 3; i++) this.mixed[4 * x + i] *= shade;
  }

  // end puts what was added into a row, and begins the next.
  end(row) {
    const { mixed: m, ground, image: { data }, width } = this;
    for (let x = 0, from = 0, to = 4 * row * width; x < width; x++, from += 4, to += 4) {
      const cover = m[from + 3];
      const free = Math.max(1 - cover, 0), scale = cover > 1 ? 1 / cover : 1;
      data[to] = m[from] * scale + ground[0] * free;
      data[to + 1] = m[from + 1] * scale + ground[1] * free;
      data[to + 2] = m[from + 2] * scale + ground[2] * free;
      data[to + 3] = 255;
    }
    m.fill(0);
  }

  // paint has the rows ready for drawRow.
  paint(rows) { this.context.putImageData(this.image, 0, 0, 0, 0, this.width, rows); }

  // drawRow draws a row on a context whose units are not pixels.
  drawRow(context, row, y, width, height) {
    context.imageSmoothingEnabled = false;
    context.drawImage(this.canvas, 0, row, this.width, 1, 0, y, width, height);
  }
}

// Work that takes long, in slices between which the page answers.

const sliceSteps = 1 << 15; // of a loop
const sliceTime = 12; // ms of work until the page answers

// slices calls body(from, to) for the parts of a range. What computes is in the bodies, since
// browsers are slower with generators.
/** @type {(from: number, to: number, body: (from: number, to: number) => void) => Generator<void, void>} */
function* slices(from, to, body) {
  for (let at = from; at < to; at += sliceSteps) {
    body(at, Math.min(at + sliceSteps, to));
    yield;
  }
}

// copied is a copy of the first n numbers of a column, with room for more.
function* copied(column, n = column.length, room = n) {
  const out = new column.constructor(room);
  yield* slices(0, n, (i, to) => out.set(column.subarray(i, to), i));
  return out;
}

// finish does work to its end, and returns what comes of it.
/** @type {<T>(work: Generator<void, T>) => T} */
function finish(work) {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

// inSlices does work in slices, whatever else is done meanwhile, and is a promise of what comes of it.
/** @type {<T>(work: Generator<void, T>) => Promise<T>} */
function inSlices(work) {
  return new Promise((done, failed) => {
    const all = function* () {
      try {
        done(yield* work);
      } catch (e) {
        failed(e);
      }
    };
    new Background().start(all(), () => {});
  });
}

// Background does one work at a time, a slice after the other.
class Background {
  constructor() {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => this.next();
    this.again = () => channel.port2.postMessage(null);
    this.work = this.then = null;
    this.asked = false;
    this.sliceTime = sliceTime;
  }

  // start does work instead of what was being done. If that takes no longer than a slice, it
  // is done at once, and start returns true; else then is called when it is done.
  start(work, then) {
    this.work = null;
    if (this.slice(work)) return true;
    this.work = work;
    this.then = then;
    if (!this.asked) this.again();
    this.asked = true;
    return false;
  }

  stop() { this.work = null; }

  slice(work) {
    const until = performance.now() + this.sliceTime;
    do if (work.next().done) return true; while (performance.now() < until);
    return false;
  }

  next() {
    this.asked = false;
    const { work } = this;
    if (!work) return;
    if (!this.slice(work)) {
      this.asked = true;
      this.again();
      return;
    }
    this.work = null;
    this.then();
  }
}

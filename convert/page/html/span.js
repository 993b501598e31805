// A span of time as a filter: [from, to], in ns after the first sample, both ends
// included; null is all time. It has whole bins of time, since that is what is known of samples.

// wholeBins is the bins that a span lies in.
function wholeBins(p, span) {
  const size = p.head.bin, { floor } = Math;
  return span && [floor(span[0] / size) * size, floor(span[1] / size) * size + size - 1];
}

// spanValues is the values of an event's rows in a column that are of samples in a span, and
// in a range of their own values.
function* spanValues(p, event, column, span, sizes) {
  const all = event.values[column];
  if (!span && !sizes || !p.moments) return all;
  const { row } = p.moments;
  const values = new Float64Array(all.length);
  const part = momentValue(p, event, column);
  const inSizes = sizeTest(p, event, sizes);
  const [first, end] = span ? momentsIn(p, span) : [0, row.length];
  yield* slices(first, end, (i, to) => {
    for (; i < to; i++) if (row[i] >= event.from && row[i] < event.to && inSizes(i)) values[row[i] - event.from] += part(i);
  });
  return values;
}

// momentValue returns what a sample has of a column: its own value, or an equal part of its
// row's.
function momentValue(p, event, column) {
  const { row, value } = p.moments;
  if (event.columns[column].weighed && value) return (i) => value[i];
  const counts = momentCounts(p), all = event.values[column];
  return (i) => all[row[i] - event.from] / counts[row[i]];
}

// momentCounts is how many samples with a time each row has.
function momentCounts(p) {
  if (!p.momentCounts) {
    p.momentCounts = new Uint32Array(p.rowLabels.length);
    for (const row of p.moments.row) p.momentCounts[row]++;
  }
  return p.momentCounts;
}

// momentsIn is the first sample in a span, and the first behind it.
function momentsIn(p, [from, to]) {
  const { time } = p.moments;
  const after = (t, inclusive) => {
    let low = 0, high = time.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (time[middle] < t || inclusive && time[middle] === t) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return [after(from, false), after(to, true)];
}

// clockText is a time in seconds of the recording's clock, to the ns.
function clockText(p, ns) {
  const clock = BigInt(p.head.clock) + BigInt(Math.round(ns));
  return `${clock / 1000000000n}.${String(clock % 1000000000n).padStart(9, '0')}`;
}


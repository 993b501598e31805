// Comparisons: colours by what differs between two values, and the table of what changed.

const newColumn = 0, baseColumn = 1;

// divergingColor is the colour of a difference, from -1, only the base has it, to 1, only
// the new side does: blue for less and orange for more, which all can tell apart.
function divergingColor(difference, dark) {
  const size = Math.min(Math.abs(difference), 1) ** 0.7;
  const hue = difference > 0 ? 22 : 210;
  return dark ? fromHSL(hue, 8 + 72 * size, 27 + 14 * size) : fromHSL(hue, 10 + 80 * size, 90 - 32 * size);
}

// fillCompare shows the verdict and, folded, the functions that changed.
function fillCompare(host, compare, onPick) {
  const ofCode = compare.rows.some(({ code }) => code);
  const head = element('tr', {}, ...['function', 'verdict', ...compare.columns, ...ofCode ? ['code'] : []].map((text) => element('th', { textContent: text })));
  const rows = compare.rows.map(({ function: name, verdict, cells, code }) => element('tr', {},
    element('td', {}, element('button', { type: 'button', textContent: shown(name), onclick: () => onPick(name) })),
    element('td', { textContent: shown(verdict) }), ...cells.map((text) => element('td', { textContent: text })),
    ...ofCode ? [element('td', { className: 'code', textContent: shown(code) })] : []));
  const parts = [element('p', { textContent: shown(compare.verdict) })];
  if (rows.length) {
    parts.push(element('details', {}, element('summary', { textContent: `What changed: ${rows.length}` }),
      element('div', { className: 'compared', tabIndex: 0 }, element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows)))));
  }
  host.replaceChildren(...parts);
  host.hidden = false;
}

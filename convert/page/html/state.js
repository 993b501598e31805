// What the reader looks at, and how the URL's hash says it.

/**
 * State is what a view is made of, beside the profile.
 * @typedef {object} State
 * @property {string} view one of views
 * @property {number} event
 * @property {number} column what is counted
 * @property {number} group number of the label that frames are grouped by, -1 for none
 * @property {string} query regular expression to search for
 * @property {boolean} icicle the root at the top
 * @property {boolean} heavy the heaviest of siblings first, else by name
 * @property {boolean} inverted stacks from their leaves on
 * @property {Map<number, Set<number>>} filter see filters.js
 * @property {string} name text of the function whose callers are shown
 * @property {number} zoom node of the flame graph, 0 for all
 * @property {number[] | null} range part of the x axis that is shown, null for all of it
 * @property {number} laneKey label and value whose samples are shown by time; -1 for all
 * @property {number | null} lane
 * @property {boolean} lanes many rows above the views, else the busiest
 * @property {boolean} changes of a comparison only what is more than noise
 * @property {boolean} sides of a comparison the flame graphs of both sides
 * @property {number[] | null} span part of the time that is counted, see span.js
 * @property {number[] | null} sizes range of the values of samples that count, its end not included; null for all
 * @property {Step[]} steps what is done to stacks, see transform.js
 * @property {string} sort of the table
 * @property {boolean} ascending
 */

const views = ['flame', 'time', 'callers', 'functions', 'tree', 'heat', 'values', 'samples'];

const mostGrouped = 2e6; // nodes of a tree that is grouped from the start

/** @type {(p: Profile) => State} */
function firstState(p) {
  const { keys, values } = p.head;
  const comm = p.head.nodes > mostGrouped ? -1 : keys.indexOf('comm');
  return {
    view: 'flame', event: p.head.event, column: p.head.column,
    group: comm >= 0 && values[comm].length > 1 ? comm : -1,
    query: '', icicle: false, heavy: false, inverted: false, filter: anyFilter, name: '', zoom: 0, range: null,
    laneKey: ['tid', 'pid', 'cpu', 'comm'].map((k) => keys.indexOf(k)).find((k) => k >= 0) ?? -1, lane: null,
    lanes: false, span: null, sizes: null, steps: [], changes: false, sides: false, sort: 'self', ascending: false,
  };
}

// hashOf writes what differs from the first state.
/** @type {(p: Profile, s: State) => string} */
function hashOf(p, s) {
  const first = firstState(p);
  const { keys, values } = p.head;
  const out = new URLSearchParams();
  const put = (name, value, standard) => { if (value !== standard) out.append(name, value); };
  put('view', s.view, first.view);
  put('value', `${s.event}.${s.column}`, `${first.event}.${first.column}`);
  put('group', keys[s.group] ?? '', keys[first.group] ?? '');
  put('search', s.query, '');
  put('icicle', s.icicle, false);
  put('heavy', s.heavy, false);
  put('inverted', s.inverted, false);
  put('rows', s.lanes, false);
  put('changes', s.changes, false);
  put('sides', s.sides, false);
  put('function', s.name, '');
  put('zoom', s.zoom, 0);
  if (s.range) out.append('range', s.range.join('-'));
  if (s.span) out.append('time', s.span.join('-'));
  if (s.sizes) out.append('sizes', s.sizes.join('-'));
  for (const { op, text } of s.steps) out.append(op, text);
  put('lane', keys[s.laneKey] ?? '', keys[first.laneKey] ?? '');
  if (s.lane !== null) out.append('at', s.lane < 0 ? '' : values[s.laneKey][s.lane]);
  put('sort', s.sort, first.sort);
  put('ascending', s.ascending, false);
  for (const [key, chosen] of s.filter) {
    for (const v of chosen) out.append(`only.${keys[key]}`, v < 0 ? '' : values[key][v]);
  }
  return out.toString();
}

// stateOf reads a hash; what makes no sense in it is passed over.
/** @type {(p: Profile, hash: string) => State} */
function stateOf(p, hash) {
  const s = firstState(p);
  const { keys, values } = p.head;
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const valueOf = (key, text) => text === '' ? -1 : values[key].indexOf(text);
  const keyOf = (name) => name === '' ? -1 : keys.indexOf(name);
  if (views.includes(given.get('view'))) s.view = given.get('view');
  const [event, column] = (given.get('value') ?? '').split('.').map(Number);
  if (p.events[event]?.columns[column]) Object.assign(s, { event, column });
  if (given.has('group')) s.group = keyOf(given.get('group'));
  s.query = given.get('search') ?? '';
  s.icicle = given.has('icicle');
  s.heavy = given.has('heavy');
  s.inverted = given.has('inverted') && !p.head.compare;
  s.lanes = given.has('rows');
  s.changes = given.has('changes');
  s.sides = given.has('sides') && Boolean(p.head.compare);
  s.name = given.get('function') ?? '';
  s.zoom = Math.max(parseInt(given.get('zoom'), 10) || 0, 0);
  const range = (given.get('range') ?? '').split('-').map(Number);
  if (range.length === 2 && range[1] > range[0]) s.range = range;
  const span = (given.get('time') ?? '').split('-').map(Number);
  if (p.moments && span.length === 2 && span[0] >= 0 && span[1] >= span[0]) s.span = wholeBins(p, span);
  const sizes = (given.get('sizes') ?? '').split('-').map(Number);
  if (p.moments && sizes.length === 2 && sizes[1] > sizes[0]) s.sizes = sizes;
  if (given.has('lane')) s.laneKey = keyOf(given.get('lane'));
  if (given.has('at') && s.laneKey >= 0) s.lane = valueOf(s.laneKey, given.get('at'));
  if (['self', 'total', 'name'].includes(given.get('sort'))) s.sort = given.get('sort');
  s.ascending = given.has('ascending');
  s.filter = new Map();
  for (const [name, text] of given) {
    if (ops.includes(name) && text && (name === 'collapse' ? hasMapping(p, text) : compileStep(text))) s.steps.push({ op: name, text });
    const key = name.startsWith('only.') ? keys.indexOf(name.slice(5)) : -1;
    if (key < 0) continue;
    const value = valueOf(key, text);
    if (value < 0 && text !== '') continue;
    s.filter.set(key, (s.filter.get(key) ?? new Set()).add(value));
  }
  return s;
}

function hasMapping(p, text) { return text === kernelMapping || p.head.mappings.includes(text); }

// fromOf is what a search for where functions are from looks for there, null of one for names.
function fromOf(query) { return /^from:(?!:)(.*)$/s.exec(query)?.[1].trim() ?? null; }

// compileSearch returns a regular expression, case-blind unless there are capital
// letters in it, of which escapes like \W are none; null for nothing to search, and
// undefined for what is none. Flame graphs (svg/details.js) do the same.
function compileSearch(query) {
  if (!query) return null;
  const blind = isBlind(query) ? 'i' : '';
  try {
    return new RegExp(query, blind + 'u');
  } catch {
    try {
      return new RegExp(query, blind);
    } catch {
      return undefined;
    }
  }
}

function isBlind(query) { return !/\p{Lu}/u.test(query.replace(/\\([pP]\{[^}]*\}|.)/g, '')); }

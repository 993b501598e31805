// The command line that selects what the page shows.

// selectCommand is the command for a state, '' where there is none: of the event shown, what
// filters, the span of time and the steps let pass, and of that what is searched for. A command with
// control characters is none: a terminal that it is pasted into may obey them.
function selectCommand(p, { event, filter, span, sizes, steps, query, group }) {
  const { command, inputs, given, flags, labels } = p.head.select;
  if (!command?.length || sizes || fromOf(query) !== null) return '';
  const own = [];
  const put = (flag, text) => own.push([flag, text]);
  if (p.events.length > 1) {
    const { name } = p.events[event];
    if (!flags.event || /[,*?[\]"]/.test(name)) return '';
    put(flags.event, name);
  }
  for (const [key, values] of filter) {
    const name = p.head.keys[key], flag = Object.hasOwn(labels ?? {}, name) ? labels[name] : '';
    const texts = [...values].map((v) => v < 0 ? null : p.head.values[key][v]);
    if (!flag || texts.some((t) => t === null || /[,"]/.test(t))) return '';
    put(flag, texts.join(','));
  }
  if (span) {
    if (!flags.time) return '';
    put(flags.time, span.map((t) => clockText(p, t)).join(','));
  }
  const expression = compileSearch(query);
  const all = query && expression ? [...steps, { op: 'focus', text: isBlind(query) ? `(?i:${query})` : query }] : steps;
  for (const { op, text } of all) {
    if (!flags[op] || /\(\?[^:i]/.test(text)) return ''; // what Go's expressions do not have
    put(flags[op], text);
  }
  if (query && expression && group >= 0 && p.head.values[group].some((value) => expression.test(value))) {
    // The search finds the values that frames are grouped by: so must the command.
    const values = p.head.values[group], matchesValue = ({ op, text }) => op !== 'collapse' && values.some((v) => compileStep(text)?.test(v));
    if (!flags.tagroot || steps.some(matchesValue)) return '';
    put(flags.tagroot, p.head.keys[group]);
  }
  const replaced = new Set(own.map(([flag]) => flag).filter((flag) => !ops.some((op) => flags[op] === flag)));
  const kept = (given ?? []).filter(([flag]) => !replaced.has(flag));
  const words = [...command, ...[...kept, ...own].flat().filter((w) => w !== ''), ...(inputs ?? [])];
  return words.some((w) => /[\u0000-\u001f\u007f-\u009f]/.test(w)) ? '' : words.map(shellWord).join(' ');
}

function shellWord(w) { return /^[\w.,:=\/+@%-]+$/.test(w) ? w : `'${w.replaceAll("'", "'\\''")}'`; }

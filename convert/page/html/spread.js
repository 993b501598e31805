// The histogram of spans above the flame graph: how many took how long.

// sized is the histogram of the samples that pass all that is selected but a range of values, so
// that another can be chosen.
App.prototype.sized = function sized() { return finish(this.sizedIn()); };

App.prototype.sizedIn = function* sizedIn() {
  const { p, event } = this, column = event.columns.findIndex((c) => c.weighed), samples = yield* this.samplesIn({ sizes: null });
  return yield* this.onceIn('sized', this.needs({ sizes: null }), () => histogram(samples, momentValue(p, event, column)));
};

App.prototype.hasSpread = function hasSpread() {
  const { p, state, event } = this;
  return state.view === 'flame' && Boolean(event.spans && p.moments && this.hasView('values') && !p.head.compare);
};

// showSpread shows it, of events that are spans. A click selects those of a bar, one with Shift
// all up to it.
App.prototype.showSpread = function showSpread() {
  const { event } = this, host = byId('spread');
  const column = event.columns.find((c) => c.weighed);
  host.hidden = !this.hasSpread();
  if (host.hidden) return;
  const bars = this.sized(), { sizes } = this.state;
  const focused = [...host.children].indexOf(document.activeElement);
  const most = bars.reduce((a, b) => Math.max(a, b.count), 1);
  host.replaceChildren(...bars.map(({ from, to, count }) => {
    const inside = sizes && from >= sizes[0] && to <= sizes[1];
    const range = `${formatValue(from, column.unit)} – ${formatValue(to, column.unit)}`;
    const bar = element('b', {});
    bar.style.height = count ? `${Math.max(100 * count / most, 4)}%` : '0';
    const button = element('button', {
      type: 'button', title: `${range}: ${wholeNumber.format(count)}`,
      onclick: ({ shiftKey }) => {
        const same = sizes && sizes[0] === from && sizes[1] === to;
        const range = shiftKey && sizes ? [Math.min(sizes[0], from), Math.max(sizes[1], to)] : [from, to];
        this.set({ sizes: same ? null : range }, { push: true });
      },
    }, element('span', {}, bar), element('small', { textContent: formatValue(from, column.unit) }));
    button.setAttribute('aria-label', `${range}: ${wholeNumber.format(count)}`);
    button.setAttribute('aria-pressed', Boolean(inside));
    return button;
  }));
  host.children[focused]?.focus();
};

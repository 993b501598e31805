// What is selected, as chips of which each takes a part of it back.

App.prototype.chips = function chips() {
  const chips = [...this.state.filter].flatMap(([key, values]) => [...values].map((value) => element('button', {
    type: 'button', title: 'Remove this filter', textContent: `${shown(this.p.head.keys[key])}: ${labelText(this.p, key, value)} ✕`,
    onclick: () => {
      const filter = new Map(this.state.filter);
      const left = new Set([...values].filter((v) => v !== value));
      if (left.size) filter.set(key, left);
      else filter.delete(key);
      this.set({ filter, range: null }, { push: true });
    },
  })));
  const { span } = this.state;
  if (span) {
    chips.unshift(element('button', {
      type: 'button', title: 'Count all of the time', textContent: `time: ${formatTime(span[0])} to ${formatTime(span[1])} ✕`,
      onclick: () => this.set({ span: null }, { push: true }),
    }));
  }
  this.state.steps.forEach((step, i) => chips.push(element('button', {
    type: 'button', title: `Undo: ${step.op} ${shown(step.text)}`, textContent: `${stepText(step)} ✕`,
    onclick: () => this.set({ steps: this.state.steps.filter((_, j) => j !== i), zoom: 0, range: null }, { push: true }),
  })));
  const { sizes } = this.state, weighed = this.event.columns.find((c) => c.weighed);
  if (sizes && weighed) {
    chips.unshift(element('button', {
      type: 'button', title: 'Count all values', onclick: () => this.set({ sizes: null }, { push: true }),
      textContent: `values: ${formatValue(sizes[0], weighed.unit)} ${sizes[1] === Infinity ? 'and more' : `to ${formatValue(sizes[1], weighed.unit)}`} ✕`,
    }));
  }
  const command = chips.length || this.matchOf ? this.command() : '';
  if (command) chips.push(this.commandChip(command));
  byId('chips').replaceChildren(...chips);
  byId('chips').hidden = !chips.length;
};

// commandChip copies the command that selects the same.
App.prototype.commandChip = function commandChip(command) {
  return element('button', {
    type: 'button', className: 'command', title: `Copy: ${command}`, textContent: 'Copy the command',
    onclick: () => this.copy(command, 'The command that selects the same:'),
  });
};

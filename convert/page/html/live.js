// A page of what still goes on: it asks for what there is by now, and shows it as it showed
// what there was.

// follow shows what is newer, until it has what is whole.
App.prototype.follow = async function follow() {
  const button = byId('live');
  const { head } = this.p;
  if (!head.live) return;
  button.hidden = false;
  button.setAttribute('aria-pressed', true);
  button.onclick = () => this.hold(button.getAttribute('aria-pressed') === 'true');
  const released = this.watchPointer();
  while (this.p.head.live) {
    const p = await this.newer(head.tab, (this.newest ?? this.p).head.live);
    if (!p) {
      button.hidden = true;
      this.say('What recorded has ended: this is what was seen of it');
      return;
    }
    this.newest = p;
    await released();
    if (button.getAttribute('aria-pressed') === 'true' || !p.head.live) this.showNewest();
  }
  button.hidden = true;
};

// watchPointer returns what waits until no button of the mouse and no finger is held down: what
// is pressed and replaced before it is let go would not be clicked, and what is dragged be lost.
App.prototype.watchPointer = function watchPointer() {
  let down = false, go = null;
  const see = (e) => {
    down = e.type !== 'pointercancel' && e.buttons !== 0;
    if (down || !go) return;
    setTimeout(go); // after the click
    go = null;
  };
  for (const type of ['pointerdown', 'pointermove', 'pointerup', 'pointercancel']) addEventListener(type, see, true);
  return async () => {
    while (down) await new Promise((done) => { go = done; });
  };
};

// hold has the page stay as it is, or go on.
App.prototype.hold = function hold(still) {
  byId('live').setAttribute('aria-pressed', !still);
  if (!still) this.showNewest();
};

// newer asks for what was written after a version, and returns null where nobody answers.
App.prototype.newer = async function newer(tab, version) {
  for (;;) {
    try {
      const answer = await fetch(`live?tab=${tab}&after=${version}`);
      if (answer.status === 204) continue; // nothing yet
      if (!answer.ok) return null;
      const bytes = answer.body.pipeThrough(new DecompressionStream('gzip'));
      return decodeProfile(new Uint8Array(await new Response(bytes).arrayBuffer()));
    } catch {
      return null;
    }
  }
};

// showNewest shows the newest profile with the state of the one before: labels and nodes have
// other numbers in it.
App.prototype.showNewest = function showNewest() {
  const p = this.newest, was = this.p, old = this.state;
  if (!p || p === was) return;
  const hash = hashOf(was, old), first = firstState(was);
  const names = old.zoom ? this.namesTo(old.zoom) : null, total = this.sums().total[0];
  this.take(p);
  const state = this.state = stateOf(p, hash);
  const same = (key) => key < 0 ? -1 : p.head.keys.indexOf(was.head.keys[key]);
  if (names || old.group !== first.group) state.group = same(old.group);
  if (old.laneKey !== first.laneKey) state.laneKey = same(old.laneKey);
  state.event = Math.max(p.events.findIndex((e) => e.name === was.events[old.event].name), 0);
  state.column = Math.min(old.column, p.events[state.event].columns.length - 1);
  this.fillPicks();
  this.filters.p = p;
  if (names) state.zoom = this.nodeOf(names);
  if (old.range && old.view === 'flame') state.range = old.range.map((x) => x * this.sums().total[0] / (total || 1));
  this.set({});
};

// namesTo is the names from the root to a node; nodeOf the node that they lead to, or to
// that of as many of them as there are.
App.prototype.namesTo = function namesTo(node) {
  const { tree } = this.flameSums(), names = [];
  for (let i = node; i > 0 && i < tree.parent.length; i = tree.parent[i]) names.push(this.p.nameText(this.p.nameOf(tree.frame[i])));
  return names.reverse();
};

App.prototype.nodeOf = function nodeOf(names) {
  const { tree } = this.flameSums();
  let node = 0;
  for (let i = 1, depth = 0; i < tree.parent.length && depth < names.length; i++) { // parents come first
    if (tree.parent[i] !== node || this.p.nameText(this.p.nameOf(tree.frame[i])) !== names[depth]) continue;
    node = i;
    depth++;
  }
  return node;
};

// Completion and words from the schema of exercise files, for the editor of them.
import { kindOf, offers, placeAt, schemasAt, siblingsAt, words } from "./yaml-words.js";

export function completion(c, schema, tell) {
  const placeOf = (state, at) => {
    const { number, from } = state.doc.lineAt(at);
    const lines = state.doc.toString().split("\n");
    return { lines, place: placeAt(lines, number - 1, at - from) };
  };

  function complete({ state, pos, explicit }) {
    const { lines, place } = placeOf(state, pos);
    if (!place || (!explicit && !place.typed)) return null;
    const line = state.doc.lineAt(pos);
    const from = pos - place.typed.length;
    const there = place.isKey ? siblingsAt(lines, line.number - 1, from - line.from) : [];
    const options = offers(schemasAt(schema, kindOf(lines), place.path), place.isKey)
      .filter(({ label }) => !there.includes(label))
      .map(({ label, info, isKey }, index) => ({
        label,
        detail: info,
        apply: isKey ? `${label}: ` : label,
        boost: -Math.min(index, 99), // in the order of the schema
      }));
    return options.length ? { from, options, validFor: /^[\w .%-]*$/ } : null;
  }

  // The words of the key at a place, or of the key whose value is there.
  function wordsAt(state, at) {
    const { from, to, text } = state.doc.lineAt(at);
    const colon = text.slice(at - from).search(/:(\s|$)/);
    const { lines, place } = placeOf(state, at);
    const whole = place?.isKey && colon >= 0 ? placeOf(state, Math.min(at + colon + 1, to)).place : place;
    const name = whole?.path.findLast((step) => step !== "[]");
    if (!name) return "";
    const [found] = schemasAt(schema, kindOf(lines), whole.path).map(words).filter(Boolean);
    return found ? `${name}: ${found}` : "";
  }

  const hover = c.hoverTooltip((view, pos) => {
    const says = wordsAt(view.state, pos);
    const dom = document.createElement("div");
    dom.textContent = says;
    return says ? { pos, create: () => ({ dom }) } : null;
  });
  const follow = c.EditorView.updateListener.of(({ state, docChanged, selectionSet }) => {
    if (docChanged || selectionSet) tell(wordsAt(state, state.selection.main.head));
  });
  return [
    c.autocompletion({ override: [complete], icons: false }),
    c.keymap.of(c.completionKeymap),
    hover,
    follow,
  ];
}

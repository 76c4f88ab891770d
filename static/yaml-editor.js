// The editor of an exercise file: a textarea that becomes CodeMirror, and stays a textarea where that cannot be loaded.
const COLORS = (c) => [
  { tag: [c.tags.definition(c.tags.propertyName), c.tags.propertyName], color: "var(--forward)", fontWeight: "600" },
  { tag: [c.tags.string, c.tags.special(c.tags.string)], color: "var(--backward)" },
  { tag: [c.tags.keyword, c.tags.separator, c.tags.punctuation], color: "var(--weight-gradient)" },
  { tag: [c.tags.lineComment, c.tags.comment], color: "var(--muted)", fontStyle: "italic" },
];

export async function yamlEditor(area, { changed, extend = () => [] }) {
  const place = area.closest("[data-editor]");
  try {
    const c = await import(new URL(place.dataset.editor, document.baseURI));
    return codeMirror(c, area, changed, extend(c));
  } catch {
    area.addEventListener("input", changed);
    return plain(area);
  }
}

function plain(area) {
  const from = (line) => area.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  return {
    text: () => area.value,
    write: (text) => (area.value = text),
    allow: (writing) => (area.readOnly = !writing),
    mark: () => {},
    jump(line) {
      area.focus();
      area.setSelectionRange(from(line), Math.max(from(line), from(line + 1) - 1));
    },
  };
}

function codeMirror(c, area, changed, further) {
  const readOnly = new c.Compartment();
  const view = new c.EditorView({ doc: area.value, extensions: [extensions(c, area, readOnly, changed), further] });
  area.hidden = true;
  area.after(view.dom);
  if (document.activeElement === area) view.focus();
  const lineAt = (number) => view.state.doc.line(Math.min(Math.max(number, 1), view.state.doc.lines));
  return {
    text: () => view.state.doc.toString(),
    write: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    allow: (writing) => view.dispatch({ effects: readOnly.reconfigure(c.EditorState.readOnly.of(!writing)) }),
    mark: (findings) => view.dispatch(c.setDiagnostics(view.state, findings.map((one) => diagnostic(lineAt, one)))),
    jump(number) {
      const { from } = lineAt(number);
      view.dispatch({ selection: { anchor: from }, effects: c.EditorView.scrollIntoView(from, { y: "center" }) });
      view.focus();
    },
  };
}

// A finding of a line is shown at its text, not at its indentation.
function diagnostic(lineAt, { line, level, says }) {
  const { from, to, text } = lineAt(line);
  return { from: Math.min(from + text.search(/\S|$/), to), to, severity: level, message: says };
}

function extensions(c, area, readOnly, changed) {
  return [
    c.lineNumbers(),
    c.history(),
    c.drawSelection(),
    c.highlightActiveLine(),
    c.indentUnit.of("  "),
    c.yaml(),
    c.syntaxHighlighting(c.HighlightStyle.define(COLORS(c))),
    c.lintGutter(),
    c.EditorView.cspNonce.of(document.querySelector("meta[name=style-nonce]").content),
    c.EditorView.lineWrapping, // prompts are prose
    readOnly.of(c.EditorState.readOnly.of(area.readOnly)),
    c.keymap.of([...c.lintKeymap, ...c.defaultKeymap, ...c.historyKeymap]),
    c.EditorView.contentAttributes.of({
      "aria-label": area.labels[0].textContent,
      "aria-describedby": "word editor-help",
      tabindex: "0", // a scrolling region needs something in it that the keyboard reaches
    }),
    c.EditorView.updateListener.of((update) => update.docChanged && changed()),
  ];
}

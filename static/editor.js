// The code editor: a textarea that becomes CodeMirror on first use. The textarea stays the field
// of the form, so everything else works the same with and without the editor.
import { say } from "./say.js";

export function editor(form, keepDraft) {
  const frame = form.querySelector("[data-editor]");
  const area = frame.querySelector("textarea");
  const nonce = document.querySelector("meta[name=style-nonce]").content;
  let view = null;
  let loading = null;
  let mark = null;

  const run = () => form.requestSubmit(form.querySelector("button[value=run]"));
  const write = (text) => {
    area.value = text;
    view?.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    keepDraft();
  };

  function upgrade() {
    loading ??= import(new URL(frame.dataset.editor, document.baseURI)).then(build, () => (loading = null));
    return loading;
  }

  function build(c) {
    const look = c.HighlightStyle.define([
      { tag: c.tags.keyword, color: "var(--weight-gradient)", fontWeight: "600" },
      { tag: [c.tags.number, c.tags.string], color: "var(--backward)" },
      { tag: c.tags.comment, color: "var(--muted)", fontStyle: "italic" },
      {
        tag: [c.tags.function(c.tags.variableName), c.tags.definition(c.tags.variableName)],
        color: "var(--forward)",
      },
    ]);
    mark = c.StateEffect.define();
    const fault = c.StateField.define({
      create: () => c.Decoration.none,
      update(marks, change) {
        let now = change.docChanged ? c.Decoration.none : marks;
        for (const effect of change.effects) {
          if (!effect.is(mark)) continue;
          const line = effect.value;
          const known = line >= 1 && line <= change.state.doc.lines;
          now = known
            ? c.Decoration.set([
                c.Decoration.line({ class: "cm-fault" }).range(change.state.doc.line(line).from),
              ])
            : c.Decoration.none;
        }
        return now;
      },
      provide: (field) => c.EditorView.decorations.from(field),
    });
    const narrow = matchMedia("(max-width: 48rem)").matches;
    const focused = document.activeElement === area;
    const at = area.selectionStart;
    view = new c.EditorView({
      doc: area.value,
      extensions: [
        c.lineNumbers(),
        c.history(),
        c.drawSelection(),
        c.highlightActiveLine(),
        c.indentOnInput(),
        c.bracketMatching(),
        c.indentUnit.of("    "),
        c.python(),
        c.syntaxHighlighting(look),
        fault,
        c.EditorView.cspNonce.of(nonce),
        narrow ? c.EditorView.lineWrapping : [],
        c.keymap.of([
          { key: "Mod-Enter", run: () => (run(), true) },
          ...c.defaultKeymap,
          ...c.historyKeymap,
          c.indentWithTab,
        ]),
        c.EditorView.contentAttributes.of({
          "aria-label": say("Python editor"),
          "aria-describedby": "editor-help",
          tabindex: "0", // a scrolling region needs something in it that the keyboard reaches
        }),
        c.EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          area.value = update.state.doc.toString();
          keepDraft();
        }),
      ],
    });
    area.hidden = true;
    area.after(view.dom);
    if (!focused) return;
    view.focus();
    view.dispatch({ selection: { anchor: Math.min(at, view.state.doc.length) } });
  }

  area.addEventListener("focus", upgrade, { once: true });
  area.addEventListener("pointerenter", upgrade, { once: true });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
  });
  form.querySelector("[data-reset]").addEventListener("click", () => {
    if (area.value !== area.dataset.starter && confirm(say("Replace your code with the starter code?")))
      write(area.dataset.starter);
  });
  form.addEventListener("judged", () => {
    const line = Number(
      form.querySelector(".result [data-line]:not([data-line=''])")?.dataset.line ?? 0,
    );
    if (view) view.dispatch({ effects: mark.of(line) });
  });
}

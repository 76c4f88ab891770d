// What the code editor uses of CodeMirror. `make editor` bundles it into static/vendor/codemirror.js.
export { Decoration, EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
export { EditorState, StateEffect, StateField } from "@codemirror/state";
export { HighlightStyle, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
export { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
export { python } from "@codemirror/lang-python";
export { tags } from "@lezer/highlight";

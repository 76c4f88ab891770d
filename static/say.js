// The sentences of scripts, in the language of the page: one that is not English carries them as data.
let sentences;
const english = new Set();

export function say(sentence, values = {}) {
  const data = document.querySelector("meta[name=sentences]");
  sentences ??= JSON.parse(data?.content ?? "{}");
  const said = (sentences[sentence] ?? sentence).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  if (data && !(sentence in sentences)) leaveInEnglish(said);
  return said;
}

// What shows a sentence that has no translation says that it is English.
function leaveInEnglish(said) {
  if (!english.size) {
    const watching = new MutationObserver((changes) => changes.forEach(({ target }) => mark(target)));
    watching.observe(document.body, { childList: true, characterData: true, subtree: true });
  }
  english.add(said);
}

function mark(node) {
  const shown = node instanceof Element ? [node, ...node.querySelectorAll("*")] : [node.parentElement];
  for (const one of shown) if (one && english.has(one.textContent)) one.lang = "en";
}

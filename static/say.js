// The sentences of scripts, in the language of the page: one that is not English carries them as data.
let sentences;

export function say(sentence, values = {}) {
  sentences ??= JSON.parse(document.querySelector("meta[name=sentences]")?.content ?? "{}");
  const found = sentences[sentence] ?? sentence;
  return found.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// Whether axe can read the elements with text of their own, and tell links from the text around them, of those that look
// like none in `known`, which are names of looks.
// Returns what axe found, and the names of the looks that it was sure about.
// A look is all that the contrast of a text depends on: its own color, size, weight and line, and of the element and
// all that it lies in, the tag, the classes, the states and the backgrounds; for a link, also whether text is beside it.
async (known) => {
  const STATES = ["class", "type", "open", "disabled", "hidden", "aria-current", "aria-pressed", "aria-selected",
    "aria-checked", "aria-invalid", "aria-disabled", "aria-expanded", "data-state", "fill"];
  const WRITTEN = "input, select, textarea, meter, progress, a[href]";
  const seen = new Set(known);
  const looks = new Map();

  const hash = (text) => {
    let [low, high] = [0xdeadbeef, 0x41c6ce57];
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      low = Math.imul(low ^ code, 2654435761);
      high = Math.imul(high ^ code, 1597334677);
    }
    return (high >>> 0).toString(36) + (low >>> 0).toString(36);
  };

  const look = (element) => {
    if (!element) return "";
    if (!looks.has(element)) {
      const style = getComputedStyle(element);
      const states = STATES.map((name) => element.getAttribute(name));
      const drawn = [style.color, style.fill, style.backgroundColor, style.backgroundImage, style.opacity, style.filter,
        style.fontSize, style.fontWeight, style.textDecorationLine, style.display, style.position, style.textShadow, style.mixBlendMode];
      looks.set(element, hash([look(element.parentElement), element.tagName, ...states, ...drawn].join("|")));
    }
    return looks.get(element);
  };

  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const written = (element) => element.matches(WRITTEN) || hasText(element);
  const beside = (element) => (element.matches("a[href]") && hasText(element.parentElement) ? " beside text" : "");

  const fresh = [];
  const names = [];
  for (const element of document.body.querySelectorAll("*")) {
    if (!written(element) || !element.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    const name = look(element) + beside(element);
    if (seen.has(name)) continue;
    seen.add(name);
    names.push(name);
    fresh.push(element);
  }
  if (!fresh.length) return {found: {violations: []}, sure: []};
  const contrast = {runOnly: {type: "rule", values: ["color-contrast", "link-in-text-block"]}};
  const options = {...contrast, resultTypes: ["violations", "incomplete"], elementRef: true};
  const {violations, incomplete} = await axe.run({include: fresh}, options);
  const unsure = new Set(incomplete.flatMap((rule) => rule.nodes.map((node) => node.element)));
  return {found: {violations}, sure: names.filter((_, at) => !unsure.has(fresh[at]))};
}

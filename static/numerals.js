// Numbers in the fields of a page, in the form of its language: as the server reads them.
const parts = new Intl.NumberFormat(document.documentElement.lang || "en").formatToParts(1.5);
const point = parts.find((part) => part.type === "decimal").value;

// A number as a field shows it, without groups.
export const spelled = (number) => String(number).replace(".", point);

// The number that a text is; NaN where it is none, or where 1.234 may be two numbers.
export function readNumber(text) {
  const typed = text.trim().replace(/(?<=\d)[\s'\u2019_](?=\d{3}(?!\d))/g, "");
  if (point === "," && /^-?[1-9]\d{0,2}\.\d{3}$/.test(typed)) return NaN;
  if (/^-?\d{1,3}(\.\d{3}){2,}$/.test(typed)) return Number(typed.replaceAll(".", ""));
  const grouped = point === "," ? /^-?\d{1,3}(,\d{3}){2,}$/ : /^-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/;
  if (grouped.test(typed)) return Number(typed.replaceAll(",", ""));
  const ungrouped = /^-?\d{1,3}(\.\d{3})+,/.test(typed) ? typed.replaceAll(".", "") : typed;
  return Number(ungrouped.replace(",", ".") || NaN);
}

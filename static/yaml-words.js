// Where in an exercise file the cursor is, and what its schema says of that place: keys, values, and words.

const KEY = /^("[^"]*"|'[^']*'|[^\s"'#[\]{},&*!|>%@`][^#]*?)\s*:(?=\s|$)/;
const unquoted = (text) => text.trim().replace(/^(["'])(.*)\1$/, "$2");

// A line as YAML sees it: the columns of its dashes, the column of its text, and the key there.
function lineOf(text) {
  const [lead] = /^(?:\s|-(?=\s|$))*/.exec(text);
  const dashes = [...lead.matchAll(/-/g)].map(({ index }) => index);
  const rest = text.slice(lead.length);
  const key = KEY.exec(rest);
  return { dashes, column: lead.length, rest, key: key && unquoted(key[1]), after: key ? lead.length + key[0].length : 0 };
}

const isBlank = (text) => !text.trim() || text.trim().startsWith("#");

// The keys around *column* of the last line, from the outermost; an item of a list is "[]".
function around(lines, column) {
  const path = [];
  let keys = column; // a key around is before this column
  let dashes = column; // and so is a dash
  for (const [index, text] of [...lines.entries()].toReversed()) {
    const isOwn = index === lines.length - 1;
    const line = lineOf(text);
    if (!isOwn && !isBlank(text) && line.key !== null && line.column < keys) {
      path.unshift(line.key);
      keys = dashes = line.column;
    }
    for (const dash of line.dashes.toReversed()) {
      if (dash >= dashes) continue;
      path.unshift("[]");
      dashes = dash;
      keys = dash + 1; // the key of a list may be in the column of its dashes
    }
  }
  return path;
}

// What is open in the braces of a value: the keys that lead there, and where the last piece begins.
function openAt(text) {
  const open = [];
  let from = 0;
  for (const { 0: sign, index } of text.matchAll(/"[^"]*"?|'[^']*'?|[{}[\],]/g)) {
    if (sign === "{" || sign === "[") open.push({ sign, key: KEY.exec(text.slice(from, index).trimStart())?.[1] });
    else if (sign === "}" || sign === "]") open.pop();
    else if (sign !== ",") continue;
    from = index + 1;
  }
  return { open, from };
}

// The place of the cursor: the keys around it, whether a key or a value is written there, and what of it stands already.
export function placeAt(lines, number, column) {
  const before = lines[number].slice(0, column);
  if (/(^|\s)#/.test(before)) return null; // a comment
  const line = lineOf(before);
  const path = around([...lines.slice(0, number), before], line.column);
  if (line.key !== null) path.push(line.key);
  const value = line.key === null ? line.rest : before.slice(line.after);
  const { open, from } = openAt(value);
  if (!open.length) return line.key === null ? atKey(path, value) : atValue(path, value);
  for (const { sign, key } of open) path.push(...(key ? [unquoted(key)] : []), ...(sign === "[" ? ["[]"] : []));
  return inPiece(path, open.at(-1).sign, value.slice(from).trimStart());
}

function inPiece(path, sign, piece) {
  if (sign === "[") return atValue(path, piece);
  const key = KEY.exec(piece);
  return key ? atValue([...path, unquoted(key[1])], piece.slice(key[0].length)) : atKey(path, piece);
}

const atKey = (path, text) => ({ path, isKey: true, typed: text.trimStart() });
const atValue = (path, text) => ({ path, isKey: false, typed: text.trimStart() });

// The keys in the mapping of one that begins at *column* of a line.
export function siblingsAt(lines, number, column) {
  const found = [];
  const own = lineOf(lines[number]);
  for (const step of [-1, 1]) {
    if (step < 0 && own.dashes.length) continue; // the first key of an item
    for (let at = number + step; at >= 0 && at < lines.length; at += step) {
      const { key, column: there, dashes } = lineOf(lines[at]);
      const isNextItem = dashes.length && step > 0;
      if (isBlank(lines[at]) || there > column) continue;
      if (there < column || isNextItem) break;
      if (key !== null) found.push(key);
      if (dashes.length) break;
    }
  }
  return found;
}

// The schemas of what stands at *path*: several where there is a choice.
export function schemasAt(schema, kind, path) {
  const own = schema.allOf.find((one) => one.if.properties.kind.const === kind);
  const whole = own ? [schema, ...choices(schema, own.then)] : [schema];
  return path.reduce((found, step) => found.flatMap((one) => choices(schema, inside(one, step))), whole);
}

function inside({ items, properties, patternProperties, additionalProperties }, step) {
  if (step === "[]") return items;
  const pattern = Object.keys(patternProperties ?? {}).find((one) => new RegExp(one, "u").test(step));
  const others = typeof additionalProperties === "object" ? additionalProperties : undefined;
  return properties?.[step] ?? (pattern === undefined ? others : patternProperties[pattern]);
}

function choices(schema, one) {
  if (!one) return [];
  const named = one.$ref ? [{ ...schema.$defs[one.$ref.split("/").at(-1)], ...without(one, "$ref") }] : [one];
  return named.flatMap((each) => {
    const several = each.anyOf ?? each.oneOf;
    return several ? several.flatMap((other) => choices(schema, { ...without(each, "anyOf", "oneOf"), ...other })) : [each];
  });
}

function without(values, ...names) {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)));
}

export const kindOf = (lines) => unquoted(lines.map((line) => /^kind:\s*([^#]*)/.exec(line)?.[1]).find(Boolean) ?? "");

// What may be written at a place: keys with their words, or values; an item of a list may be either.
export function offers(schemas, isKey) {
  const found = new Map();
  const add = (pairs, isKey) => pairs.forEach(([label, info]) => found.has(label) || found.set(label, { label, info, isKey }));
  for (const one of schemas) {
    if (isKey) add(keysOf(one), true);
    if (!isKey || one.enum) add(valuesOf(one), false);
  }
  return [...found.values()];
}

const keysOf = (one) => [
  ...Object.entries(one.properties ?? {}).map(([name, inner]) => [name, words(inner)]),
  ...(one.propertyNames?.enum ?? []).map((name) => [name, ""]),
];

function valuesOf(one) {
  const given = one.enum ?? (one.const === undefined ? [] : [one.const]);
  if (one.type === "boolean") return [["true", ""], ["false", ""]];
  if (given.length) return given.map((value) => [String(value), value === one.default ? "the default" : ""]);
  return one.default && typeof one.default !== "object" ? [[String(one.default), "the default"]] : [];
}

export const words = (one) => one?.description ?? "";

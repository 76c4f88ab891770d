// What is typed and chosen in a form: kept in this browser through a reload, Back, and another day.
// Each tab has its own; a new tab begins with the last one of any. *sorted* is a list to put in order.
const isChoice = ({ type }) => type === "radio" || type === "checkbox";
const nameOf = (field) => (isChoice(field) ? `${field.name}=${field.value}` : field.name);
const valueOf = (field) => (isChoice(field) ? field.checked : field.value);

function fill(field, value) {
  if (isChoice(field)) field.checked = value;
  else if (!field.options || [...field.options].some((one) => one.value === value)) field.value = value;
}

export function draft(form, name, sorted) {
  const fields = () => [...form.elements].filter((one) => one.name && !["hidden", "submit"].includes(one.type));
  const read = () => JSON.stringify([...fields().map((one) => [nameOf(one), valueOf(one)]), ["order", sorted?.keys()]]);
  const empty = read();

  // A private window may refuse to store anything, and what is stored may be no draft.
  function attempt(work) {
    try {
      return work();
    } catch {
      return null;
    }
  }

  function restore() {
    const stored = attempt(() => sessionStorage.getItem(name) ?? localStorage.getItem(name));
    const values = new Map(attempt(() => JSON.parse(stored)));
    for (const field of fields()) if (values.has(nameOf(field))) fill(field, values.get(nameOf(field)));
    if (values.get("order")) sorted?.arrange(values.get("order"));
  }

  function keep() {
    const text = read();
    for (const store of ["sessionStorage", "localStorage"])
      attempt(() => (text === empty ? self[store].removeItem(name) : self[store].setItem(name, text)));
  }

  // What is right need not be there on another day, when it is asked again; in this tab it stays.
  const finish = () => attempt(() => localStorage.removeItem(name));

  return { restore, keep, finish };
}

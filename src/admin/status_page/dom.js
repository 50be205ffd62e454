// Changes of the document that leave alone what stays the same: nothing flickers,
// and a selection, the focus and an open part survive.
//
// Text goes in as text, never as markup: names of tables and messages of servers
// may contain anything.

export const find = (id) => document.getElementById(id);

export function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

export function drawn(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function set(node, key, value) {
  if (node.getAttribute(key) !== String(value)) node.setAttribute(key, value);
}

// The children of `parent` become those of `items`, in their order: [key, ...]
// each. A child is made once for a key, and updated with each call.
export function keep(parent, items, create, update) {
  const known = parent.known ??= new Map();
  const wanted = new Set(items.map(([key]) => key));
  for (const [key, node] of known) {
    if (wanted.has(key)) continue;
    node.remove();
    known.delete(key);
  }
  items.forEach((item, place) => {
    let node = known.get(item[0]);
    if (!node) known.set(item[0], node = create(...item));
    if (parent.children[place] !== node) parent.insertBefore(node, parent.children[place] ?? null);
    update(node, ...item);
  });
}

// rows: [key, text, text, ...] each; the first text is the head of its row.
export function fillTable(table, heads, rows) {
  keep(table.tHead, [["head"]], () => make("tr", {}, ...heads.map(
      (head) => make("th", {scope: "col"}, head))), () => {});
  keep(table.tBodies[0], rows,
       (key, ...cells) => make("tr", {}, ...cells.map(
           (_, place) => place ? make("td") : make("th", {scope: "row"}))),
       (row, key, ...cells) => cells.forEach((text, place) => write(row.cells[place], text)));
}

// facts: [name, text, loud] each.
export function fillFacts(list, facts) {
  keep(list, facts, (name) => make("div", {}, make("dt", {}, name), make("dd")),
       (node, name, text, loud) => {
         write(node.lastChild, text);
         node.classList.toggle("loud", Boolean(loud));
       });
}

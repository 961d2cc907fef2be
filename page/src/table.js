// A table whose rows live: it is updated in place, sorted by its headings, and does not move under the pointer.
import { element, setText } from "./dom.js";

// columns: [{id, title, text(row) | fill(cell, row), sort: "asc" | "desc" (the first order) | undefined, numeric}]
export class LiveTable {
  constructor({ caption, columns, key, sort, order, onsort }) {
    this.columns = columns;
    this.key = key;
    this.sort = sort;
    this.order = order;
    this.onsort = onsort;
    this.rows = new Map();
    this.headings = columns.map((column) => element("th", { scope: "col", class: column.numeric && "numeric" },
      column.sort ? element("button", { type: "button", class: "sort", onclick: () => this.choose(column) }, column.title) : column.title));
    this.body = element("tbody");
    this.node = element("table", { class: "live" }, element("caption", { class: "unseen" }, caption),
      element("thead", {}, element("tr", {}, ...this.headings)), this.body);
    this.showOrder();
  }

  choose(column) {
    const other = this.order === "asc" ? "desc" : "asc";
    this.order = this.sort === column.id ? other : column.sort;
    this.sort = column.id;
    this.showOrder();
    this.moved = true;
    this.onsort(this.sort, this.order);
  }

  showOrder() {
    this.columns.forEach((column, i) => {
      if (column.id === this.sort) this.headings[i].setAttribute("aria-sort", this.order === "asc" ? "ascending" : "descending");
      else this.headings[i].removeAttribute("aria-sort");
    });
  }

  update(rows) {
    const seen = new Set(rows.map(this.key));
    for (const [key, { node }] of this.rows) {
      if (!seen.has(key)) { node.remove(); this.rows.delete(key); }
    }
    const still = !this.moved && (this.body.matches(":hover") || this.body.contains(document.activeElement));
    this.moved = false;
    rows.forEach((row, i) => {
      const key = this.key(row);
      let shown = this.rows.get(key);
      if (!shown) {
        const cells = this.columns.map((column) => element(column.heading ? "th" : "td",
          { class: column.numeric && "numeric", "data-title": column.title, scope: column.heading && "row" }));
        shown = { node: element("tr", {}, ...cells), cells };
        this.rows.set(key, shown);
        this.body.append(shown.node);
      }
      this.columns.forEach((column, c) => {
        if (column.fill) column.fill(shown.cells[c], row);
        else setText(shown.cells[c], column.text(row));
      });
      if (!still && this.body.children[i] !== shown.node) this.body.insertBefore(shown.node, this.body.children[i]);
    });
  }
}

// Two lines in one cell: what matters, and what it is to be compared with.
export function twoLines(cell, first, second) {
  if (!cell.firstChild) cell.append(element("span", { class: "first" }), element("span", { class: "second" }));
  setText(cell.firstChild, first);
  setText(cell.lastChild, second);
}

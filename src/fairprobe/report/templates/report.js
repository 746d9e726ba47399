"use strict";
// Draws the lists: of thousands of entries one page at a time, in the order and with the filters that the reader wants.
// Everything that is written is text; nothing is ever read as markup.
(() => {
  const PAGE = { flips: 20, cases: 10 };
  // A matrix is drawn for so many values of the last sensitive parameter and so many combinations; of more, those with
  // another answer are listed as text.
  const MOST_COLUMNS = 10;
  const MOST_IN_MATRIX = 60;
  const MOST_CHOICES = 60; // a parameter with more values is filtered from one number to another
  const MISSING = "(missing)"; // as `wording.py` writes it
  const all = JSON.parse(document.getElementById("data").textContent);

  const make = (tag, name, ...children) => {
    const element = document.createElement(tag);
    if (name) element.className = name;
    element.append(...children);
    return element;
  };
  const bdi = (text) => make("bdi", "", text);
  const count = (n) => n.toLocaleString("en-US");
  const figure = (number) => (number === null ? "not measured" : String(Number(number.toPrecision(3))));
  const least = (each) => (Array.isArray(each) ? Math.min(...each) : each);
  const isNumber = (each) => typeof each === "number";
  // Numbers by their size, then texts; a missing value comes last.
  const rank = (each) => (isNumber(each) ? 0 : each === MISSING ? 2 : 1);
  const compare = (one, other) => rank(one) - rank(other) || (one < other ? -1 : one > other ? 1 : 0);
  const distinct = (values) => [...new Set(values)];
  const named = (text, control, name) => make("label", name, text, control);
  const choice = (options) => {
    const select = make("select");
    options.forEach(([value, text]) => select.append(new Option(text, value)));
    return select;
  };

  class Listing {
    constructor(root) {
      this.root = root;
      this.what = root.dataset.what;
      this.data = all[root.dataset.list];
      this.sort = { by: "given", down: false };
      this.size = PAGE[root.dataset.list];
      this.page = 0;
      this.n = this.data.labels.length;
      this.columns = this.data.columns.map((name, place) => this.column(name, this.data.rows.map((row) => row[place])));
      this.measures = this.told(this.data.measures);
      this.orders = this.data.selves ? this.ordersOfPeople() : {};
      this.filters = [];
      const values = this.data.values ?? [];
      const n = values.reduce((product, each) => product * each.length, 1);
      this.hasMatrix = values.length > 1 && values.at(-1).length <= MOST_COLUMNS && n <= MOST_IN_MATRIX;
      root.replaceChildren(this.controls(), ...this.legend(), this.table(), this.pager());
      this.update();
    }

    // A column: its distinct values in order, and by entry the place of its value among them (-1: not told).
    column(name, told) {
      const values = distinct(told.filter((each) => each !== null)).sort(compare);
      const places = new Map(values.map((each, place) => [each, place]));
      const numeric = values.every((each) => isNumber(each) || each === MISSING);
      return { name, values, numeric, codes: Int32Array.from(told, (each) => places.get(each) ?? -1) };
    }

    // Figures to sort by: those that differ between entries, each once.
    told(measures) {
      const seen = new Set();
      return Object.entries(measures)
        .map(([name, figures]) => ({ name, figures, values: figures.map(least) }))
        .filter(({ values }) => distinct(values).length > 1 && !seen.has(String(values)) && seen.add(String(values)));
    }

    // Numbers to sort people by, by title of a column of the table: who they are, what they get, how many other selves
    // get something else.
    ordersOfPeople() {
      const { own, selves, others } = this.data;
      const gets = own.map((self, place) => (self < 0 ? -1 : selves[place][self]));
      return { Person: own, Gets: gets, "Other selves": others.map((each) => each.reduce((sum, other) => sum + other, 0)) };
    }

    // What is shown: the places of the entries that pass all filters, in order

    chosen() {
      const tests = this.filters.map((filter) => filter()).filter(Boolean);
      const places = [];
      for (let i = 0; i < this.n; i++) if (tests.every((test) => test(i))) places.push(i);
      const keys = this.keys();
      if (keys) {
        const sign = this.sort.down ? -1 : 1;
        places.sort((a, b) => (keys[a] === keys[b] ? a - b : keys[a] < keys[b] ? -sign : sign));
      }
      return places;
    }

    keys() {
      const [kind, place] = this.sort.by.split(" ");
      const unknown = this.sort.down ? -Infinity : Infinity; // what is not known comes last
      if (kind === "column") return Float64Array.from(this.columns[place].codes, (each) => (each < 0 ? unknown : each));
      if (kind === "order") return Object.values(this.orders)[place];
      if (kind !== "measure") return null;
      return Float64Array.from(this.measures[place].values, (each) => each ?? unknown);
    }

    update(page = 0) {
      if (page === 0) this.places = this.chosen();
      this.page = page;
      const first = page * this.size;
      const shown = this.places.slice(first, first + this.size);
      this.body.replaceChildren(...shown.map((place) => this.row(place)));
      const n = this.places.length;
      const of = n === this.n ? count(n) : `${count(n)} (of ${count(this.n)} in all)`;
      this.said.textContent = n ? `${count(first + 1)} to ${count(first + shown.length)} of ${of} ${this.what}` : `None of ${count(this.n)} ${this.what}`;
      this.back.disabled = page === 0;
      this.on.disabled = first + this.size >= n;
      this.heads.forEach(([by, head]) => {
        if (this.sort.by === by) head.setAttribute("aria-sort", this.sort.down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
        head.querySelector(".way").textContent = this.sort.by === by ? (this.sort.down ? " ↓" : " ↑") : "";
      });
    }

    // Controls

    controls() {
      const controls = make("div", "controls");
      Object.entries(this.data.groups).forEach(([name, texts]) => controls.append(...this.groupFilter(name, texts)));
      if (this.columns.length) controls.append(...this.valueFilter());
      const options = [["given", "As listed"]];
      this.measures.forEach((each, place) => options.push([`measure ${place}`, each.name]));
      Object.keys(this.orders).forEach((name, place) => options.push([`order ${place}`, name]));
      this.columns.forEach((each, place) => options.push([`column ${place}`, each.name]));
      if (options.length > 1) controls.append(...this.sorting(options));
      return controls;
    }

    sorting(options) {
      this.by = choice(options);
      this.by.dataset.control = "sort";
      this.down = make("button", "", "Ascending");
      this.down.type = "button";
      this.by.addEventListener("change", () => this.order(this.by.value, this.by.value.startsWith("measure")));
      this.down.addEventListener("click", () => this.order(this.sort.by, !this.sort.down));
      this.down.disabled = true;
      return [named("Sort by", this.by), this.down];
    }

    order(by, down) {
      this.sort = { by, down };
      this.by.value = by;
      this.down.disabled = by === "given";
      this.down.textContent = down ? "Descending" : "Ascending";
      this.update();
    }

    groupFilter(name, texts) {
      const known = distinct(texts.flat()).sort((one, other) => one.length - other.length || compare(one, other));
      if (known.length < 2) return [];
      const select = choice([["", "all"], ...known.map((text, place) => [place, text])]);
      select.dataset.control = "group";
      // A person may be listed once for each kind of twins: one kind is shown at first.
      if (this.data.selves) select.value = known.indexOf(texts[0][0]);
      this.filters.push(() => {
        if (select.value === "") return null;
        const wanted = known[Number(select.value)];
        return (i) => texts[i].includes(wanted);
      });
      select.addEventListener("change", () => this.update());
      return [named(name, select)];
    }

    valueFilter() {
      const parameter = choice([["", "any parameter"], ...this.columns.map((each, place) => [place, each.name])]);
      parameter.dataset.control = "parameter";
      const value = choice([]);
      value.dataset.control = "value";
      const ends = ["from", "to"].map(() => Object.assign(make("input"), { type: "number", step: "any" }));
      const one = named("is", value);
      const range = ends.map((input, place) => named(place ? "to" : "from", input, "range"));
      const shape = () => {
        this.asked = parameter.value === "" ? -1 : Number(parameter.value);
        const values = this.asked < 0 ? [] : this.columns[this.asked].values;
        const wide = values.length > MOST_CHOICES && this.columns[this.asked].numeric;
        one.hidden = this.asked < 0 || wide;
        range.forEach((each) => (each.hidden = !wide));
        ends.forEach((each) => (each.value = ""));
        value.replaceChildren(new Option("any value", ""), ...values.map((each, place) => new Option(each, place)));
      };
      shape();
      this.filters.push(() => {
        if (this.asked < 0) return null;
        const codes = this.columns[this.asked].codes;
        const passing = this.passing(value.value, ends.map((each) => each.value));
        return passing && ((i) => codes[i] >= 0 && passing[codes[i]]);
      });
      parameter.addEventListener("change", () => { shape(); this.update(); });
      [value, ...ends].forEach((each) => each.addEventListener("input", () => this.update()));
      return [named("Where", parameter), one, ...range];
    }

    // By value of the parameter asked for, whether it passes.
    passing(wanted, [from, to]) {
      const values = this.columns[this.asked].values;
      if (wanted !== "") return values.map((_, place) => place === Number(wanted));
      if (from === "" && to === "") return null;
      const low = from === "" ? -Infinity : Number(from);
      const high = to === "" ? Infinity : Number(to);
      return values.map((each) => Number(each) >= low && Number(each) <= high);
    }

    pager() {
      this.said = make("output");
      this.back = make("button", "", "Previous");
      this.on = make("button", "", "Next");
      [this.back, this.on].forEach((each) => (each.type = "button"));
      const go = (page, other) => (event) => {
        this.update(page());
        if (event.currentTarget.disabled) other.focus();
      };
      this.back.addEventListener("click", go(() => this.page - 1, this.on));
      this.on.addEventListener("click", go(() => this.page + 1, this.back));
      return make("div", "pager", this.said, this.back, this.on);
    }

    // The table

    table() {
      this.heads = [];
      const isCases = this.root.dataset.list === "cases";
      const titles = isCases ? ["Case", "What differs", "The model answers"] : ["Row", "Person", "Gets", "Other selves"];
      const orders = Object.keys(this.orders);
      const heads = titles.map((text) => (text in this.orders ? this.head(text, `order ${orders.indexOf(text)}`) : make("th", "", text)));
      this.measures.forEach((each, place) => heads.push(this.head(each.name, `measure ${place}`, "number")));
      heads.forEach((each) => each.setAttribute("scope", "col"));
      this.body = make("tbody");
      const table = make("table", "", make("thead", "", make("tr", "", ...heads)), this.body);
      table.setAttribute("aria-label", isCases ? "Cases" : "Real rows that get another answer");
      return table;
    }

    // The head of a column that can be sorted by: a press sorts, the next turns the order around.
    head(text, by, name = "") {
      const button = make("button", "", text, make("span", "way"));
      button.type = "button";
      button.addEventListener("click", () => this.order(by, this.sort.by === by ? !this.sort.down : true));
      const head = make("th", name, button);
      this.heads.push([by, head]);
      return head;
    }

    row(place) {
      const label = make("th", "label", bdi(this.data.labels[place]));
      label.setAttribute("scope", "row");
      label.dataset.name = this.root.dataset.list === "cases" ? "Case" : "Row";
      const cells = this.data.selves ? [label, ...this.person(place)] : [label, this.pair(place), this.answers(place)];
      this.measures.forEach((each) => {
        const cell = make("td", "number", [each.figures[place]].flat().map(figure).join(" → "));
        cell.dataset.name = each.name;
        cells.push(cell);
      });
      return make("tr", "", ...cells);
    }

    // What differs, before and after; then, smaller, what is the same.
    pair(place) {
      const cell = make("td", "pair");
      const changed = new Set();
      this.data.changes[place].forEach(([column, before, after]) => {
        changed.add(column);
        const name = make("span", "name", bdi(column), " ");
        cell.append(make("span", "change", name, bdi(before), make("span", "arrow", "→"), bdi(after)), " ");
      });
      const same = make("span", "same");
      this.data.rows[place].forEach((each, column) => {
        const { name } = this.columns[column];
        if (each === null || changed.has(name)) return;
        if (same.lastChild) same.lastChild.append(" · ");
        same.append(make("span", column === this.asked ? "asked" : "", bdi(name), " ", bdi(each)));
      });
      if (same.childNodes.length) cell.append(same);
      if (this.data.notes[place]) cell.append(make("span", "same", bdi(this.data.notes[place])));
      return cell;
    }

    // How to read the squares of a matrix.
    legend() {
      const { names, values } = this.data;
      if (!this.hasMatrix) return [];
      const across = `columns: ${names.at(-1)} ${values.at(-1).join(", ")}`;
      const down = `rows: ${names.slice(0, -1).map((name, k) => `${name} ${values[k].join(", ")}`).join("; ")}`;
      const text = `Each square is one combination (${down}; ${across}). Full: another answer than the person gets. Empty: the same. Ring: the person.`;
      return [make("p", "legend", bdi(text))];
    }

    // A person on one line: who it is, what they get, and what each other combination of sensitive values would get.
    person(place) {
      const { names, values, texts, selves, others, own } = this.data;
      const answer = (self) => texts[selves[place][self]];
      const mine = own[place];
      const who = make("td", "who");
      const told = mine < 0 ? [] : this.valuesOf(mine);
      names.forEach((name, k) => who.append(make("span", "own", bdi(name), " ", make("b", "", bdi(told[k] ?? "not compared"))), " "));
      const rest = this.data.rows[place].map((each, column) => [this.columns[column].name, each]);
      const same = rest.filter(([name, each]) => each !== null && !names.includes(name)).map(([name, each]) => `${name} ${each}`);
      if (same.length) who.append(Object.assign(make("span", "rest", bdi(same.join(" · "))), { title: same.join("\n") }));
      const gets = make("td", "gets", bdi(mine < 0 ? "" : answer(mine)));
      gets.dataset.name = "Gets";
      const all = selves[place].map((_, self) => self).filter((self) => selves[place][self] >= 0);
      const said = all.map((self) => `${this.valuesOf(self).join(", ")}: ${answer(self)}`);
      const other = all.filter((self) => others[place][self] && self !== mine);
      const cell = make("td", "selves");
      if (this.hasMatrix) cell.append(this.matrix(place, `Another answer as ${other.map((self) => this.valuesOf(self).join(" ")).join(", ") || "nobody"}`));
      else {
        const shown = other.slice(0, 4).map((self) => `${this.valuesOf(self).join(", ")}: ${answer(self)}`);
        if (other.length > shown.length) shown.push(`and ${other.length - shown.length} more`);
        cell.append(Object.assign(bdi(shown.join("; ")), { title: said.join("\n") }));
      }
      return [who, gets, cell];
    }

    // The values of a combination, numbered in the order of the product of all values.
    valuesOf(self) {
      const told = [];
      for (let k = this.data.values.length - 1, left = self; k >= 0; k--) {
        const n = this.data.values[k].length;
        told.unshift(this.data.values[k][left % n]);
        left = Math.floor(left / n);
      }
      return told;
    }

    // One square a combination, a row of them for each value of the first parameters: full where the answer is another
    // than the person's, empty where it is the same, ringed for the person.
    matrix(place, words) {
      const { values, texts, selves, others, own } = this.data;
      const grid = make("span", "matrix");
      grid.setAttribute("role", "img");
      grid.setAttribute("aria-label", words);
      grid.style.setProperty("--columns", values.at(-1).length);
      selves[place].forEach((answer, self) => {
        const kind = answer < 0 ? "absent" : others[place][self] ? "other" : "same";
        const square = make("i", self === own[place] ? `${kind} mine` : kind);
        square.title = `${this.valuesOf(self).join(", ")}: ${answer < 0 ? "not compared" : texts[answer]}`;
        grid.append(square);
      });
      return grid;
    }

    answers(place) {
      const cell = make("td", "answers");
      cell.dataset.name = "Answers";
      this.data.answers[place].forEach(([who, text], k) => {
        if (who) cell.append(make("span", "who", bdi(who), ": ", bdi(text)), " ");
        else cell.append(...(k ? [make("span", "arrow", "→"), bdi(text)] : [bdi(text)]));
      });
      return cell;
    }
  }

  document.querySelectorAll("[data-list]").forEach((root) => new Listing(root));
})();

"use strict";
// Draws the lists: of thousands of entries one page at a time, in the order and with the filters that the reader wants.
// Everything that is written is text; nothing is ever read as markup.
(() => {
  const PAGE = { flips: 8, cases: 10 };
  const MOST_CHOICES = 60; // a parameter with more values is filtered from one number to another
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
      this.codes = this.data.codes.map((each) => Int32Array.from(each));
      this.filters = [];
      root.replaceChildren(this.controls(), this.table(), this.pager());
      this.update();
    }

    // What is shown: the places of the entries that pass all filters, in order

    chosen() {
      const tests = this.filters.map((filter) => filter()).filter(Boolean);
      const places = [];
      for (let i = 0; i < this.data.n; i++) if (tests.every((test) => test(i))) places.push(i);
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
      if (kind === "column") return Float64Array.from(this.codes[place], (each) => (each < 0 ? unknown : each));
      if (kind !== "measure") return null;
      return Float64Array.from(this.data.measures[place].values, (each) => each ?? unknown);
    }

    update(page = 0) {
      if (page === 0) this.places = this.chosen();
      this.page = page;
      const first = page * this.size;
      const shown = this.places.slice(first, first + this.size);
      this.body.replaceChildren(...shown.map((place) => this.row(place)));
      const n = this.places.length;
      const of = n === this.data.n ? count(n) : `${count(n)} (of ${count(this.data.n)} in all)`;
      this.said.textContent = n ? `${count(first + 1)} to ${count(first + shown.length)} of ${of} ${this.what}` : `None of ${count(this.data.n)} ${this.what}`;
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
      const { measures, groups, columns } = this.data;
      const controls = make("div", "controls");
      groups.forEach((group) => controls.append(this.groupFilter(group)));
      if (this.codes.length) controls.append(...this.valueFilter());
      const options = [["given", "As listed"]];
      measures.forEach((each, place) => options.push([`measure ${place}`, each.name]));
      if (this.codes.length) columns.forEach((name, place) => options.push([`column ${place}`, name]));
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

    groupFilter(group) {
      const select = choice([["", "all"], ...group.texts.map((text, place) => [place, text])]);
      select.dataset.control = "group";
      this.filters.push(() => {
        if (select.value === "") return null;
        const wanted = Number(select.value);
        return (i) => group.codes[i].includes(wanted);
      });
      select.addEventListener("change", () => this.update());
      return named(group.name, select);
    }

    valueFilter() {
      const { columns, values, numeric } = this.data;
      const parameter = choice([["", "any parameter"], ...columns.map((name, place) => [place, name])]);
      parameter.dataset.control = "parameter";
      const value = choice([]);
      value.dataset.control = "value";
      const ends = ["from", "to"].map(() => Object.assign(make("input"), { type: "number", step: "any" }));
      const one = named("is", value);
      const range = ends.map((input, place) => named(place ? "to" : "from", input, "range"));
      const shape = () => {
        this.asked = parameter.value === "" ? -1 : Number(parameter.value);
        const wide = this.asked >= 0 && numeric[this.asked] && values[this.asked].length > MOST_CHOICES;
        one.hidden = this.asked < 0 || wide;
        range.forEach((each) => (each.hidden = !wide));
        ends.forEach((each) => (each.value = ""));
        const texts = this.asked < 0 ? [] : values[this.asked];
        value.replaceChildren(new Option("any value", ""), ...texts.map((text, place) => new Option(text, place)));
      };
      shape();
      this.filters.push(() => {
        if (this.asked < 0) return null;
        const codes = this.codes[this.asked];
        const passing = this.passing(value.value, ends.map((each) => each.value));
        return passing && ((i) => codes[i] >= 0 && passing[codes[i]]);
      });
      parameter.addEventListener("change", () => { shape(); this.update(); });
      [value, ...ends].forEach((each) => each.addEventListener("input", () => this.update()));
      return [named("Where", parameter), one, ...range];
    }

    // By value of the parameter asked for, whether it passes.
    passing(wanted, [from, to]) {
      const texts = this.data.values[this.asked];
      if (wanted !== "") return texts.map((_, place) => place === Number(wanted));
      if (from === "" && to === "") return null;
      const low = from === "" ? -Infinity : Number(from);
      const high = to === "" ? Infinity : Number(to);
      return texts.map((text) => Number(text) >= low && Number(text) <= high);
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
      const heads = [isCases ? "Case" : "Row", "What differs", isCases ? "The model answers" : "Answers"].map((text) => make("th", "", text));
      this.data.measures.forEach((each, place) => {
        const button = make("button", "", each.name, make("span", "way"));
        button.type = "button";
        const by = `measure ${place}`;
        button.addEventListener("click", () => this.order(by, this.sort.by === by ? !this.sort.down : true));
        const head = make("th", "number", button);
        this.heads.push([by, head]);
        heads.push(head);
      });
      heads.forEach((each) => each.setAttribute("scope", "col"));
      this.body = make("tbody");
      const table = make("table", "", make("thead", "", make("tr", "", ...heads)), this.body);
      table.setAttribute("aria-label", isCases ? "Cases" : "Real rows that flip");
      return table;
    }

    row(place) {
      const { labels, measures } = this.data;
      const label = make("td", "label", bdi(labels[place]));
      label.dataset.name = this.root.dataset.list === "cases" ? "Case" : "Row";
      const cells = [label, this.pair(place), this.answers(place)];
      measures.forEach((each) => {
        const cell = make("td", "number", each.pairs?.[place] ? each.pairs[place].map(figure).join(" → ") : figure(each.values[place]));
        cell.dataset.name = each.name;
        cells.push(cell);
      });
      return make("tr", "", ...cells);
    }

    // What differs, before and after; then, smaller, what is the same.
    pair(place) {
      const { columns, values } = this.data;
      const cell = make("td", "pair");
      const changes = this.data.changes[place];
      const changed = new Set();
      for (let k = 0; k < changes.length; k += 3) {
        const [column, before, after] = changes.slice(k, k + 3);
        changed.add(column);
        const name = make("span", "name", bdi(columns[column]), " ");
        const texts = values[column];
        cell.append(make("span", "change", name, bdi(texts[before]), make("span", "arrow", "→"), bdi(texts[after])), " ");
      }
      const same = make("span", "same");
      this.codes.forEach((codes, column) => {
        if (codes[place] < 0 || changed.has(column)) return;
        if (same.lastChild) same.lastChild.append(" · ");
        same.append(make("span", column === this.asked ? "asked" : "", bdi(columns[column]), " ", bdi(values[column][codes[place]])));
      });
      if (same.childNodes.length) cell.append(same);
      if (this.data.notes[place]) cell.append(make("span", "same", bdi(this.data.notes[place])));
      return cell;
    }

    answers(place) {
      const { who, outputs } = this.data;
      const answers = this.data.answers[place];
      const cell = make("td", "answers");
      cell.dataset.name = "Answers";
      for (let k = 0; k < answers.length; k += 2) {
        const output = bdi(outputs[answers[k + 1]]);
        if (answers[k] >= 0) cell.append(make("span", "who", bdi(who[answers[k]]), ": ", output), " ");
        else cell.append(...(k ? [make("span", "arrow", "→"), output] : [output]));
      }
      return cell;
    }
  }

  document.querySelectorAll("[data-list]").forEach((root) => new Listing(root));
})();


"use strict";
(function () {
  const PER_PAGE = 10;
  const byId = (id) => document.getElementById(id);

  function make(tag, kind, text) {
    const element = document.createElement(tag);
    if (kind) element.className = kind;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  // Sortable tables: a header becomes a button; a second press reverses the order.
  function sortKey(row, column) {
    const cell = row.cells[column];
    return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent;
  }

  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  }

  function sortBy(table, header) {
    const body = table.tBodies[0];
    const column = header.cellIndex;
    const numeric = typeof sortKey(body.rows[0], column) === "number";
    const now = header.getAttribute("aria-sort");
    const descending = now ? now === "ascending" : numeric;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const rows = [...body.rows];
    rows.sort((a, b) => compare(sortKey(a, column), sortKey(b, column)) * (descending ? -1 : 1));
    body.append(...rows);
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    if (table.tBodies[0].rows.length < 2) continue;
    for (const header of table.tHead.rows[0].cells) {
      const button = make("button", "", header.textContent);
      button.type = "button";
      button.addEventListener("click", () => sortBy(table, header));
      header.replaceChildren(button);
    }
  }

  // The browser of documents. Text goes into the page as text, never as markup.
  const data = JSON.parse(byId("data").textContent);
  if (!data.documents.length) return;
  const inputs = {};
  for (const name of ["search", "kind", "right", "wrong", "marked"]) inputs[name] = byId(name);
  let page = 0;
  let chosen = [];

  function options(select, entries) {
    for (const [value, text] of entries) {
      const option = make("option", "", text);
      option.value = value;
      select.append(option);
    }
  }

  const systems = data.systems.map((name, index) => [String(index), name]);
  options(inputs.right, [["", "any or none"], ...systems, ["every", "every system"]]);
  options(inputs.wrong, [["", "any or none"], ...systems, ["every", "every system"]]);
  options(inputs.marked, [["all", "everything"], ["gold", "gold"], ...systems]);

  function searched(entry) {
    if (entry.searched === undefined) {
      const words = [entry.id, entry.title, entry.body, ...entry.gold.map((phrase) => phrase.text)];
      for (const phrases of entry.systems) words.push(...phrases.map((phrase) => phrase.text));
      entry.searched = words.join("\n").toLowerCase();
    }
    return entry.searched;
  }

  const ofKind = (phrase) => inputs.kind.value === "all" || phrase.kind === inputs.kind.value;

  // A gold phrase is found by the system chosen as right and missed by the system chosen as wrong.
  function separates(gold) {
    const right = inputs.right.value;
    const wrong = inputs.wrong.value;
    const all = data.systems.length;
    if (right === "every" && gold.found.length < all) return false;
    if (wrong === "every" && gold.found.length > 0) return false;
    if (right !== "" && right !== "every" && !gold.found.includes(Number(right))) return false;
    return !(wrong !== "" && wrong !== "every" && gold.found.includes(Number(wrong)));
  }

  function matches(entry) {
    const wanted = inputs.search.value.trim().toLowerCase();
    if (wanted && !searched(entry).includes(wanted)) return false;
    if (inputs.right.value === "" && inputs.wrong.value === "") {
      return inputs.kind.value === "all" || entry.gold.some(ofKind)
        || entry.systems.some((phrases) => phrases.some(ofKind));
    }
    return entry.gold.some((gold) => ofKind(gold) && separates(gold));
  }

  // How characters are marked; where marks overlap, the first of this list wins.
  const ORDER = ["correct", "missed", "partial", "wrong"];

  function marksOf(entry) {
    const shown = inputs.marked.value;
    const found = [];
    const add = (verdict, places) => {
      for (let i = 0; i < places.length; i += 2) found.push([places[i], places[i + 1], verdict]);
    };
    for (const gold of entry.gold.filter(ofKind)) {
      const seen = shown === "all" || shown === "gold"
        ? gold.found.length > 0
        : gold.found.includes(Number(shown));
      add(seen ? "correct" : "missed", gold.places);
    }
    entry.systems.forEach((phrases, index) => {
      if (shown !== "all" && shown !== String(index)) return;
      for (const phrase of phrases.filter(ofKind)) {
        if (phrase.verdict !== "ignored") add(phrase.verdict, phrase.places);
      }
    });
    return found;
  }

  function within(places, start, end) {
    for (let i = 0; i < places.length; i += 2) {
      if (places[i] <= start && end <= places[i + 1]) return true;
    }
    return false;
  }

  function marked(element, text, offset, marks, picked) {
    const cuts = new Set([0, text.length]);
    const cut = (place) => {
      const inside = place - offset;
      if (inside > 0 && inside < text.length) cuts.add(inside);
    };
    for (const [start, end] of marks) { cut(start); cut(end); }
    picked.forEach(cut);
    const sorted = [...cuts].sort((a, b) => a - b);
    for (let i = 0; i + 1 < sorted.length; i += 1) {
      const [from, to] = [sorted[i], sorted[i + 1]];
      const here = marks
        .filter(([start, end]) => start <= offset + from && offset + to <= end)
        .map(([, , verdict]) => verdict);
      const verdict = ORDER.find((name) => here.includes(name));
      const picking = within(picked, offset + from, offset + to);
      const piece = text.slice(from, to);
      if (!verdict && !picking) element.append(piece);
      else element.append(make("mark", `${verdict || ""} ${picking ? "chosen" : ""}`.trim(), piece));
    }
  }

  const LABELS = {
    correct: "correct", partial: "partly right", wrong: "wrong", missed: "not found",
    ignored: "not counted",
  };

  function chip(phrase, verdict, details, pick) {
    const item = make("li");
    const label = [LABELS[verdict], phrase.kind, ...details].join(", ");
    const times = phrase.times > 1 ? ` ×${phrase.times}` : "";
    const button = make("button", `chip ${verdict}`, phrase.text + times);
    button.type = "button";
    button.title = label;
    button.setAttribute("aria-pressed", "false");
    button.append(make("span", "unseen", ` (${label})`));
    if (phrase.kind === "absent" && verdict !== "ignored") button.append(make("small", "", "absent"));
    button.addEventListener("click", () => pick(button, phrase.places));
    item.append(button);
    return item;
  }

  function row(article, title, items) {
    article.append(make("h4", "", title));
    if (!items.length) {
      article.append(make("p", "note", "none"));
      return;
    }
    const list = make("ul", "chips");
    list.append(...items);
    article.append(list);
  }

  function card(entry) {
    const article = make("article");
    const title = make("h3");
    const body = make("p", "text");
    const marks = marksOf(entry);
    const fill = (picked) => {
      title.replaceChildren();
      body.replaceChildren();
      marked(title, entry.title, 0, marks, picked);
      marked(body, entry.body, entry.title.length + 1, marks, picked);
    };
    const pick = (button, places) => {
      const on = button.getAttribute("aria-pressed") !== "true";
      for (const other of article.querySelectorAll("button.chip")) {
        other.setAttribute("aria-pressed", String(on && other === button));
      }
      fill(on ? places : []);
    };
    fill([]);
    article.append(make("p", "id", entry.id), title, body);
    row(article, "Gold", entry.gold.filter(ofKind).map((gold) => {
      const by = gold.found.map((index) => data.systems[index]);
      const details = by.length ? [`found by ${by.join(", ")}`] : [];
      return chip(gold, by.length ? "correct" : "missed", details, pick);
    }));
    entry.systems.forEach((phrases, index) => {
      row(article, data.systems[index], phrases.filter(ofKind).map((phrase) => {
        const details = phrase.reason ? [phrase.reason] : [];
        if (phrase.confidence !== null) details.push(`confidence ${phrase.confidence.toFixed(2)}`);
        return chip(phrase, phrase.verdict, details, pick);
      }));
    });
    return article;
  }

  function described() {
    const names = { every: "every system" };
    const name = (value) => names[value] || data.systems[Number(value)];
    const kind = {
      all: "a gold phrase", present: "a present gold phrase", absent: "an absent gold phrase",
    }[inputs.kind.value];
    const [right, wrong] = [inputs.right.value, inputs.wrong.value];
    if (right && wrong) return ` with ${kind} that ${name(right)} finds and ${name(wrong)} misses`;
    if (right) return ` with ${kind} that ${name(right)} finds`;
    return wrong ? ` with ${kind} that ${name(wrong)} misses` : "";
  }

  function pager(place, pages, below) {
    const holder = byId(place);
    holder.replaceChildren();
    if (pages < 2) return;
    const step = (text, by) => {
      const button = make("button", "", text);
      button.type = "button";
      button.disabled = page + by < 0 || page + by >= pages;
      button.addEventListener("click", () => {
        page += by;
        show();
        if (below) byId("status").scrollIntoView();
      });
      return button;
    };
    const where = make("span", "", `Page ${page + 1} of ${pages}`);
    holder.append(step("Previous", -1), where, step("Next", 1));
  }

  function show() {
    const pages = Math.max(1, Math.ceil(chosen.length / PER_PAGE));
    page = Math.min(page, pages - 1);
    const part = chosen.slice(page * PER_PAGE, (page + 1) * PER_PAGE);
    byId("list").replaceChildren(...part.map(card));
    pager("pager-top", pages, false);
    pager("pager-bottom", pages, true);
  }

  function refresh() {
    chosen = data.documents.filter(matches);
    page = 0;
    byId("status").textContent =
      `${chosen.length} of ${data.documents.length} documents${described()}.`;
    show();
  }

  let waiting = 0;
  inputs.search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 150);
  });
  for (const name of ["kind", "right", "wrong"]) inputs[name].addEventListener("change", refresh);
  inputs.marked.addEventListener("change", show);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").hidden = false;
  byId("legend").hidden = false;
  refresh();
})();

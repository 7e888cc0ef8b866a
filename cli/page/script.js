/* What the page can do in a browser with JavaScript: sort, filter, hide series, save data. It is whole without. */
"use strict";
(() => {
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  /* ---- sorting: rows without a value stay last ---- */
  const valueOf = (row, column, isNumber) => {
    const cell = row.cells[column];
    if (!isNumber) return cell.textContent.trim();
    return cell.dataset.value === undefined ? NaN : Number(cell.dataset.value);
  };
  const compare = (a, b, isNumber, direction) => {
    if (!isNumber) return direction * a.localeCompare(b, "en", { numeric: true });
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
    return direction * (a - b);
  };
  const sortBy = (table, heading) => {
    const direction = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const isNumber = heading.dataset.sort === "number";
    const keyed = [...table.tBodies[0].rows].map((row) => [valueOf(row, heading.cellIndex, isNumber), row]);
    keyed.sort((a, b) => compare(a[0], b[0], isNumber, direction));
    table.tBodies[0].append(...keyed.map((pair) => pair[1]));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    for (const heading of table.querySelectorAll("th[data-sort]")) {
      const button = make("button", { type: "button", title: "Sort by this column" }, ...heading.childNodes);
      button.addEventListener("click", () => sortBy(table, heading));
      /* A browser prints no button in a heading that it repeats. */
      const printed = make("span", { className: "printed" }, ...[...button.childNodes].map((node) => node.cloneNode(true)));
      heading.replaceChildren(button, printed);
    }
  }

  /* ---- filtering ---- */
  const table = document.querySelector("table.filtered");
  if (table === null) return; /* the page of a history */
  const rows = [...table.tBodies[0].rows];
  const nameOf = (row) => row.cells[1].querySelector("span").textContent;
  const texts = new Map(rows.map((row) => [row, (row.dataset.key + " " + row.textContent).toLowerCase()]));
  const words = make("input", { type: "search", placeholder: "for example: causal D64 wgmma" });
  const choose = (values) =>
    make("select", {}, make("option", { value: "", textContent: "all" }), ...[...new Set(values)].map((value) => make("option", { value, textContent: value })));
  const variant = choose(rows.map(nameOf));
  const status = choose(rows.map((row) => row.dataset.status));
  const fastest = choose(["fastest of each case, and what failed"]);
  const isFine = (row) => ["ok", "skipped", "planned"].includes(row.dataset.status);
  const count = make("output");
  count.setAttribute("aria-live", "polite");
  const apply = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const isShown =
        wanted.every((word) => texts.get(row).includes(word)) &&
        (variant.value === "" || nameOf(row) === variant.value) &&
        (status.value === "" || row.dataset.status === status.value) &&
        (fastest.value === "" || row.classList.contains("fastest") || !isFine(row));
      row.hidden = !isShown;
      shown += isShown;
    }
    count.textContent = `${shown} of ${rows.length} rows`;
    const isFastest = fastest.value !== "" && words.value + variant.value + status.value === "";
    table.caption.textContent =
      shown === rows.length ? `All ${shown} rows` : count.textContent + (isFastest ? `: the ${fastest.value}` : "");
  };
  const clear = () => {
    words.value = variant.value = status.value = fastest.value = "";
    apply();
  };
  const reset = make("button", { type: "button", textContent: "Show all" });
  reset.addEventListener("click", clear);
  const form = make("form", { className: "filter" }, make("label", { textContent: "Rows that contain" }, words),
    make("label", { textContent: "Variant" }, variant), make("label", { textContent: "Status" }, status),
    make("label", { textContent: "Speed" }, fastest), reset, count);
  form.setAttribute("aria-label", "Filter the table");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", apply);
  table.parentElement.before(form);
  /* A long table of one report first shows only the fastest row of each case, and the rows that failed. */
  const manyRows = 40, isOneReport = document.getElementById("heat") !== null;
  if (rows.length > manyRows && isOneReport) fastest.value = fastest.options[1].value;
  apply();

  /* A link shows a row that the filter hides, and opens what is folded. */
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target === null) return;
    for (let at = target.closest("details"); at !== null; at = at.parentElement.closest("details")) at.open = true;
    const folded = target.querySelector(":scope > details.folded");
    if (folded !== null) folded.open = true;
    if (target.hidden) clear();
    target.scrollIntoView({ block: "center" });
  };
  window.addEventListener("hashchange", reveal);
  reveal();

  /* ---- legends: one click hides a series in every figure ---- */
  const toggle = (series) => {
    for (const button of document.querySelectorAll(`.legend [data-series="${series}"] button`)) {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") === "false"));
    }
    for (const group of document.querySelectorAll(`figure g[data-series="${series}"]`)) {
      group.style.display = group.style.display === "none" ? "" : "none";
    }
  };
  for (const item of document.querySelectorAll(".legend li")) {
    const button = make("button", { type: "button", title: "Show or hide in all figures" }, ...item.childNodes);
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => toggle(item.dataset.series));
    item.replaceChildren(button);
  }

  /* ---- data of a figure as a file ---- */
  for (const data of document.querySelectorAll("details.data")) {
    const pre = data.querySelector("pre");
    const name = `${data.closest("section").id}.csv`;
    const link = make("a", { download: name, href: "data:text/csv;charset=utf-8," + encodeURIComponent(pre.textContent), textContent: `Save ${name}` });
    pre.before(make("p", {}, link));
  }
})();

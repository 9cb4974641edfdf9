"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  headings.forEach((heading, column) => {
    if ([...body.rows].some((row) => row.cells[column].classList.contains("number"))) {
      heading.classList.add("number");
      for (const row of body.rows) row.cells[column].classList.add("number");
    }
    const sort = () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.value;
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x !== undefined && y !== undefined) return Number(x) - Number(y);
        if (x !== undefined || y !== undefined) return x === undefined ? 1 : -1;
        return a.cells[column].textContent.localeCompare(b.cells[column].textContent, undefined, { numeric: true });
      });
      if (down) rows.reverse();
      body.append(...rows);
    };
    heading.addEventListener("click", sort);
    heading.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  });
}

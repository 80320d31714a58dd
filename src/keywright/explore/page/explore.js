// Search, fewer rows at first, and opening a phrase that a link leads to.
const byId = (id) => document.getElementById(id);
const rows = [...document.querySelectorAll("#phrases > li")];
const FIRST = 30;
let all = rows.length <= FIRST;

function update() {
  const wanted = byId("search").value.trim().toLowerCase();
  let found = 0;
  rows.forEach((row, at) => {
    const fits = row.dataset.text.includes(wanted);
    found += fits;
    row.hidden = !fits || (!all && !wanted && at >= FIRST);
  });
  byId("found").textContent = wanted ? `${found} of ${rows.length} phrases` : "";
  byId("more-row").hidden = all || Boolean(wanted);
}

function open() {
  const row = rows.find((candidate) => `#${candidate.id}` === location.hash);
  if (!row) return;
  if (row.hidden) {
    all = true;
    byId("search").value = "";
    update();
  }
  row.querySelector("details").open = true;
  row.scrollIntoView({ block: "start" });
}

byId("filter").hidden = false;
byId("filter").addEventListener("submit", (event) => event.preventDefault());
byId("search").addEventListener("input", update);
byId("more").textContent = `Show all ${rows.length} phrases`;
byId("more").addEventListener("click", () => {
  all = true;
  update();
});
addEventListener("hashchange", open);
// A phone shows a part of the map: its middle, because a corner may be empty.
for (const map of document.querySelectorAll(".map")) {
  map.scrollLeft = (map.scrollWidth - map.clientWidth) / 2;
}
update();
open();

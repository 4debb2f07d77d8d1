// Patches: the form for a comment opens below its line, and a file that a person has viewed is folded until it changes.

// The digests of the viewed files, newest last.
const STORE = "fairway-viewed";
const MAX_STORED = 2000;
const stored = () => JSON.parse(localStorage.getItem(STORE) ?? "[]");

/** Folds the viewed files. @param {ParentNode} root */
export const showPatches = (root) => {
  const known = new Set(stored());
  for (const file of root.querySelectorAll("section.file")) {
    const label = file.querySelector(".viewed");
    label.hidden = false;
    label.firstElementChild.checked = known.has(file.dataset.digest);
    if (label.firstElementChild.checked) file.querySelector("details").open = false;
  }
};

const openForm = (link) => {
  const row = link.closest("tr");
  if (!row.nextElementSibling?.matches(".fresh")) {
    const fresh = document.createElement("tr");
    fresh.className = "note fresh";
    const cell = fresh.appendChild(document.createElement("td"));
    cell.colSpan = row.children.length;
    cell.append(link.closest("article, .tabs > section").querySelector("template.comment").content.cloneNode(true));
    cell.querySelector("form").elements.place.value = link.dataset.place;
    row.after(fresh);
  }
  row.nextElementSibling.querySelector("textarea").focus();
};

document.addEventListener("change", (event) => {
  if (!event.target.matches(".viewed > input")) return;
  const file = event.target.closest(".file");
  const others = stored().filter((one) => one !== file.dataset.digest);
  if (event.target.checked) others.push(file.dataset.digest);
  localStorage.setItem(STORE, JSON.stringify(others.slice(-MAX_STORED)));
  file.querySelector("details").open = !event.target.checked;
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (link?.closest("nav.files")) {
    const file = document.getElementById(link.hash.slice(1));
    file.querySelector("details").open = true;
    file.scrollIntoView();
    file.querySelector("summary").focus({ preventScroll: true });
  } else if (link?.dataset.place) openForm(link);
  else if (link?.closest("tr.fresh .way")) link.closest("tr").remove();
  else return;
  event.preventDefault();
});

showPatches(document);

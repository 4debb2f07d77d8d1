// Keys of every page, and the palette. A control names its key itself, as `aria-keyshortcuts`.

import { say } from "./forms.js";

const HELP = `j k     next, previous row          Enter   open it, then into it
/       search                       Ctrl-K  everything on this page by its name
?       these keys                   Esc     back
Ctrl-Enter sends what is written. A letter beside a button is its key.`;
const isField = (one) => one.closest("input:not([type=radio], [type=checkbox]), textarea, select") !== null;
const seen = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
const fieldOf = (one) => one.querySelector("textarea, select, input:not([type=hidden])") ?? one.querySelector("button");

// Does what a press on the control does; a field gets the focus.
const use = (control) => {
  control.scrollIntoView({ block: "nearest" });
  if (isField(control)) control.focus();
  else control.click();
};

const move = (by) => {
  const rows = seen("a.row, .queue a, .card > a");
  const at = rows.findIndex((row) => row === document.activeElement || row.getAttribute("aria-current") === "true");
  const row = rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by))];
  row?.focus();
  // Beside the list, the row that has the focus is open.
  if (row?.matches(".row") && seen(".open").length && (row.hash || row.dataset.lane)) row.click();
};

const palette = document.createElement("dialog");
const wanted = document.createElement("input");
const found = document.createElement("ul");
palette.className = "palette";
palette.setAttribute("aria-label", "go to, or do");
wanted.setAttribute("aria-label", "name of a lane, a task or a command");
palette.append(wanted, found);
document.body.append(palette);
const nameOf = (one) => (one.getAttribute("aria-label") ?? one.textContent).trim().replace(/\s+/g, " ");
const offer = () => {
  const words = wanted.value.toLowerCase().split(" ");
  const all = seen("a.row, .card > a, .queue a, main button, main summary, main .button, .tabs > label, header nav a");
  const hits = all.filter((one) => words.every((word) => nameOf(one).toLowerCase().includes(word))).slice(0, 12);
  found.replaceChildren(
    ...hits.map((one) => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = nameOf(one);
      button.addEventListener("click", () => {
        palette.close();
        use(one);
      });
      item.append(button);
      return item;
    }),
  );
};
wanted.addEventListener("input", offer);
palette.addEventListener("keydown", (event) => {
  const buttons = [...found.querySelectorAll("button")];
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by) (buttons[buttons.indexOf(document.activeElement) + by] ?? wanted).focus();
  else if (event.key === "Enter" && event.target === wanted) buttons[0]?.click();
  else return;
  event.preventDefault();
});

// A form that a person opens has the focus.
document.addEventListener("click", (event) => {
  const details = event.target.closest("summary")?.parentElement;
  if (details && !details.open) setTimeout(() => details.open && fieldOf(details)?.focus());
});

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  const isControl = event.ctrlKey || event.metaKey;
  if (isControl && key === "k") {
    wanted.value = "";
    palette.showModal();
    offer();
  } else if (isControl && key === "Enter" && target.form) {
    target.form.requestSubmit();
  } else if (isControl || event.altKey || isField(target) || palette.open) {
    return;
  } else if (key === "j" || key === "k") {
    move(key === "j" ? 1 : -1);
  } else if (key === "Enter" && target.matches("a.row[aria-current]") && seen(".open").length) {
    seen(".open :is(button, textarea, summary)")[0]?.focus();
  } else if (key === "/") {
    document.querySelector("header input[type=search]").focus();
  } else if (key === "?") {
    say(HELP, false);
  } else {
    const control = seen("[aria-keyshortcuts]").find((one) => one.getAttribute("aria-keyshortcuts") === key);
    if (!control) return;
    use(control);
  }
  event.preventDefault();
});

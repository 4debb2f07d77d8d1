// What is open beside the list, or instead of it on a phone: an item of the list, and the lane that it is about, with its live
// screens. The fragment of the address names it.

import { showAges } from "./ages.js";
import { reopen } from "./live.js";
import { showPatches } from "./patch.js";

const main = document.getElementById("board");
const body = document.getElementById("lane");
const isWide = matchMedia("(min-width: 68.75rem)");
// The shortest time between two fetches: after a change of the lane's rows, and after any other event.
const PAUSE = 1000;
const LONG_PAUSE = 5000;
// The key of the open item, or of the open lane's row.
let chosen = "";
let lane = "";
// Whether what is open is a lane alone.
let isLane = false;
// The newest event that the open lane shows.
let seq = 0;
// The rows of each session's screen, with what the server tells of it. The server sends the rows that change.
const screens = new Map();
let fetchedAt = 0;
let timer;
let dueAt = 0;

const inAddress = () => {
  try {
    return decodeURIComponent(location.hash.slice(1).replaceAll("+", " "));
  } catch {
    return "";
  }
};
const rows = () => [...main.querySelectorAll(".list a.row")];
const keyOf = (row) => row.closest("li").dataset.key;
const things = () => [...document.querySelectorAll("#open > ul > li")];

/** The lane whose screens the server is to send, with a new connection. */
export const laneToFollow = () => {
  screens.clear();
  return lane;
};

// A run of cells: its text, or an array with its marks and colours.
const runOf = (run) => {
  if (typeof run === "string") return run;
  const cells = document.createElement("span");
  [cells.textContent, cells.className, cells.style.color, cells.style.backgroundColor] = run;
  return cells;
};

const drawScreen = (session) => {
  const screen = [...body.querySelectorAll("pre[data-session]")].find((one) => one.dataset.session === session);
  if (!screen) return;
  const { rows, terminal, columns } = screens.get(session);
  screen.classList.remove("none");
  screen.classList.toggle("cells", terminal);
  screen.style.setProperty("--columns", Math.max(columns, 40));
  screen.style.setProperty("--rows", Math.max(rows.length, 12));
  screen.replaceChildren(...rows.flatMap((row, at) => (at ? ["\n", ...row.map(runOf)] : row.map(runOf))));
};

/** Shows what has changed on a screen.
 * @param {{ session: string, terminal: boolean, columns: number, count: number, changes: [number, unknown[]][] }} news */
export const showScreen = ({ session, terminal, columns, count, changes }) => {
  const rows = screens.get(session)?.rows ?? [];
  for (const [at, row] of changes) rows[at] = row;
  rows.length = count;
  screens.set(session, { rows, terminal, columns });
  drawScreen(session);
};

const isWriting = () =>
  [...body.querySelectorAll("textarea")].some((field) => field.value.trim()) || body.querySelector("form[data-sent], .fresh");
// What a control is found by in the lane as it is fetched anew.
const nameOf = (control) => control.id || `${control.tagName} ${control.form?.elements.command?.value}`;

const fetchLane = async () => {
  clearTimeout(timer);
  timer = undefined;
  fetchedAt = Date.now();
  const shown = lane;
  const answer = await fetch(`lane?name=${encodeURIComponent(lane)}`, { headers: { accept: "text/html" } });
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("board");
  if (lane !== shown) return;
  // Text that a person has begun to write meanwhile stays.
  if (isWriting()) return fetchAt(Date.now() + PAUSE);
  if (fresh) seq = Math.max(seq, Number(fresh.dataset.seq) || 0);
  const opened = [...body.querySelectorAll("details[open] input[name=command]")].map((one) => one.value);
  const tab = body.querySelector("input[name=tab]:checked")?.id;
  const focused = body.contains(document.activeElement) ? nameOf(document.activeElement) : "";
  const scrolled = [...body.querySelectorAll("pre")].map((one) => one.scrollTop);
  body.replaceChildren(...(fresh?.childNodes ?? ["error: the server does not answer"]));
  for (const field of body.querySelectorAll("details input[name=command]")) {
    if (opened.includes(field.value)) field.closest("details").open = true;
  }
  if (tab && document.getElementById(tab)) document.getElementById(tab).checked = true;
  const again = [...body.querySelectorAll("input, textarea, button")].find((one) => nameOf(one) === focused);
  again?.focus({ preventScroll: true });
  body.querySelectorAll("pre").forEach((one, index) => (one.scrollTop = scrolled[index] ?? 0));
  for (const session of screens.keys()) drawScreen(session);
  showAges(body);
  showPatches(body);
};

// Fetches the lane at this time, unless it is fetched earlier.
const fetchAt = (at) => {
  if (timer !== undefined && dueAt <= at) return;
  clearTimeout(timer);
  dueAt = at;
  timer = setTimeout(() => {
    timer = undefined;
    if (!lane) return;
    // Text that a person writes in it stays.
    if (isWriting()) fetchAt(Date.now() + PAUSE);
    else fetchLane().catch(() => {});
  }, at - Date.now());
};

/** Shows the open lane anew, soon. */
export const refreshLane = (pause = PAUSE) => {
  if (lane) fetchAt(Math.max(Date.now() + 200, fetchedAt + pause));
};

/** Hears the newest event that the board shows. @param {number} newest */
export const followLane = (newest) => {
  if (newest <= seq) return;
  seq = newest;
  refreshLane(LONG_PAUSE);
};

// Returns whether it is another one than before.
const openLane = (name) => {
  if (name === lane) return false;
  lane = name;
  clearTimeout(timer);
  timer = undefined;
  body.hidden = !lane;
  body.textContent = lane ? "…" : "";
  if (lane) fetchLane().catch(() => (body.textContent = "error: the server does not answer"));
  return true;
};

/** Shows what the address names, else what was open, else, beside the list, its first row. Returns whether the lane is another
 * one than before. */
export const showOpen = () => {
  const address = inAddress();
  const all = rows();
  const thingOf = (key) => things().find((thing) => thing.id === key);
  const rowOf = (key) => all.find((row) => keyOf(row) === key || `lane:${row.dataset.lane}` === key);
  if (address && address !== chosen && (rowOf(address) || thingOf(address))) chosen = address;
  // What a person has not opened makes room for what needs one, unless something is written in it.
  const isUsed = () => isWriting() || [...(thingOf(chosen)?.querySelectorAll("textarea") ?? [])].some((field) => field.value.trim());
  if (!address && !(isWide.matches && (rowOf(chosen)?.closest("#needs") || isUsed()))) chosen = "";
  if (chosen && !rowOf(chosen) && !thingOf(chosen)) {
    // What was asked is settled; a lane stays as long as it has a row.
    const row = (isLane || isWriting()) && all.find((one) => one.dataset.lane === lane);
    chosen = row ? keyOf(row) : "";
  }
  const wasOpened = main.classList.contains("opened");
  main.classList.toggle("opened", chosen !== "");
  if (address && address !== chosen) history.replaceState(null, "", chosen ? `#${encodeURIComponent(chosen)}` : "./");
  if (!chosen && isWide.matches && all.length) chosen = keyOf(all[0]);
  const [row, thing] = [rowOf(chosen), thingOf(chosen)];
  isLane = !thing;
  for (const one of all) {
    if (one === row) one.setAttribute("aria-current", "true");
    else one.removeAttribute("aria-current");
  }
  for (const one of things()) one.classList.toggle("chosen", one === thing);
  if (!isWide.matches && wasOpened !== (chosen !== "")) {
    scrollTo(0, 0);
    (chosen ? main.querySelector(".back") : main).focus({ preventScroll: true });
  }
  return openLane(row?.dataset.lane ?? "");
};

const change = () => showOpen() && reopen();
addEventListener("hashchange", change);
isWide.addEventListener("change", change);
main.addEventListener("click", (event) => {
  const row = event.target.closest("a.row");
  // Another tab is what the browser opens.
  if (!row?.dataset.lane || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (row.hash) return;
  event.preventDefault();
  location.hash = encodeURIComponent(keyOf(row));
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !location.hash || event.target.closest("textarea, input")) return;
  location.hash = "";
});
main.classList.add("scripted");

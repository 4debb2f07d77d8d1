// Opens a lane in place, below its rows: screens, changes, evidence, messages and history, as its own page has them. The address keeps
// which one is open. Without this script a lane's name leads to that page.

import { showAges } from "/ages.js";
import { reopen } from "/live.js";

const list = document.querySelector("#lanes ul");
// The shortest time between two fetches: after a change of the lane's rows, and after any other event.
const PAUSE = 1000;
const LONG_PAUSE = 5000;
let item;
let body;
// The newest event that the open lane shows.
let seq = 0;
// The lines of each session's screen. The server sends those that change.
const screens = new Map();
let fetchedAt = 0;
let timer;
let dueAt = 0;

const nameInAddress = () => new URLSearchParams(location.search).get("lane");
const linksOf = (name) => [...list.querySelectorAll("a[data-lane]")].filter((link) => link.dataset.lane === name);

/** Whether this is the lane that is open in place. @param {Element | null} one */
export const isOpenLane = (one) => item !== undefined && one === item;

/** The lane whose screens the server is to send, with a new connection. */
export const laneToFollow = () => {
  screens.clear();
  return item?.dataset.lane ?? "";
};

const drawScreen = (session) => {
  const screen = [...(body?.querySelectorAll("pre[data-session]") ?? [])].find((one) => one.dataset.session === session);
  if (!screen) return;
  screen.classList.remove("none");
  screen.textContent = screens.get(session).join("\n");
};

/** Shows what has changed on a screen. @param {{ session: string, count: number, changes: [number, string][] }} news */
export const showScreen = ({ session, count, changes }) => {
  const lines = screens.get(session) ?? [];
  for (const [at, line] of changes) lines[at] = line;
  lines.length = count;
  screens.set(session, lines);
  drawScreen(session);
};

const isWriting = () =>
  [...item.querySelectorAll("textarea")].some((field) => field === document.activeElement || field.value.trim()) ||
  item.querySelector("form[data-sent]");

const close = () => {
  if (!item) return;
  const name = item.dataset.lane;
  clearTimeout(timer);
  timer = undefined;
  const hadFocus = item.contains(document.activeElement);
  item.remove();
  item = undefined;
  for (const link of linksOf(name)) link.setAttribute("aria-expanded", "false");
  if (hadFocus) linksOf(name)[0]?.focus({ preventScroll: true });
};

const fetchLane = async () => {
  clearTimeout(timer);
  timer = undefined;
  fetchedAt = Date.now();
  const shown = body;
  const answer = await fetch(`/lane?name=${encodeURIComponent(item.dataset.lane)}`, { headers: { accept: "text/html" } });
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("board");
  if (body !== shown) return;
  // Text that a person has begun to write meanwhile stays.
  if (isWriting()) return fetchAt(Date.now() + PAUSE);
  if (fresh) seq = Math.max(seq, Number(fresh.dataset.seq));
  const opened = [...shown.querySelectorAll("details[open] input[name=command]")].map((one) => one.value);
  const scrolled = [...shown.querySelectorAll("pre")].map((one) => one.scrollTop);
  shown.replaceChildren(...(fresh?.childNodes ?? ["error: the server does not answer"]));
  for (const field of shown.querySelectorAll("details input[name=command]")) {
    if (opened.includes(field.value)) field.closest("details").open = true;
  }
  shown.querySelectorAll("pre").forEach((one, index) => (one.scrollTop = scrolled[index] ?? 0));
  for (const session of screens.keys()) drawScreen(session);
  showAges(shown);
};

// Fetches the lane at this time, unless it is fetched earlier.
const fetchAt = (at) => {
  if (timer !== undefined && dueAt <= at) return;
  clearTimeout(timer);
  dueAt = at;
  timer = setTimeout(() => {
    timer = undefined;
    if (!item) return;
    // Text that a person writes in it stays.
    if (isWriting()) fetchAt(Date.now() + PAUSE);
    else fetchLane().catch(() => {});
  }, at - Date.now());
};

/** Shows the open lane anew, soon. */
export const refreshLane = (pause = PAUSE) => {
  if (item) fetchAt(Math.max(Date.now() + 200, fetchedAt + pause));
};

/** Hears the newest event that the board shows. @param {number} newest */
export const followLane = (newest) => {
  if (newest <= seq) return;
  seq = newest;
  refreshLane(LONG_PAUSE);
};

/** Puts the open lane below its rows, and shows it anew if one of them has changed. It is closed when they are gone.
 * @param {Element[]} rows @param {Record<string, string>} changed */
export const placeLane = (rows, changed) => {
  if (!item) return;
  const isRow = (row) => row.querySelector(":scope > a[data-lane]")?.dataset.lane === item.dataset.lane;
  const last = rows.findLastIndex(isRow);
  if (last < 0) return close();
  for (const row of rows.filter(isRow)) row.querySelector("a").setAttribute("aria-expanded", "true");
  if (rows.some((row) => isRow(row) && row.dataset.key in changed)) refreshLane();
  rows.splice(last + 1, 0, item);
};

/** Opens the lane that the address names. */
export const openLane = () => {
  close();
  const name = nameInAddress();
  const links = linksOf(name);
  if (!links.length) return;
  item = document.createElement("li");
  item.className = "open-lane";
  item.dataset.key = `open ${name}`;
  item.dataset.lane = name;
  body = document.createElement("div");
  body.setAttribute("role", "region");
  body.setAttribute("aria-label", `lane ${name}`);
  body.textContent = "…";
  item.append(body);
  links.at(-1).closest("li").after(item);
  for (const link of links) link.setAttribute("aria-expanded", "true");
  fetchLane().catch(() => (body.textContent = "error: the server does not answer"));
};

const toggle = (name) => {
  const address = new URL(location.href);
  if (item?.dataset.lane === name) address.searchParams.delete("lane");
  else address.searchParams.set("lane", name);
  history.replaceState(null, "", address);
  openLane();
  reopen();
};

list?.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-lane]");
  // Another tab is what the browser opens.
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  toggle(link.dataset.lane);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && item?.contains(document.activeElement) && !event.target.closest("textarea")) toggle(item.dataset.lane);
});

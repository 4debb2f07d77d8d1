// Keeps the board current: the server sends the HTML of changed items. Without this script the page can be read, and its forms
// work.

import { showAges } from "./ages.js";
import { say, send } from "./forms.js";
import "./keys.js";
import { connect, refuseIfStale, reopen, setTitle } from "./live.js";
import { followLane, laneToFollow, refreshLane, showOpen, showScreen } from "./open.js";

const main = document.getElementById("board");
const news = document.getElementById("news");
const project = document.title;
// A tap so soon after the list has moved may be meant for another item.
const SETTLE = 400;
let movedAt = -SETTLE;

const keyed = (list) => new Map([...list.children].map((item) => [item.dataset.key, item]));
const parse = (html) => {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
};
// A text for an item that is gone is kept, so that the person can copy it; it can be sent no more.
const KEPT = "settled, or another question by now: nothing was sent, and your text is kept to copy";
const isWritten = (item) => [...item.querySelectorAll("textarea")].some((field) => field.value.trim());
const lock = (item) => {
  for (const field of item.querySelectorAll("textarea")) field.readOnly = true;
  for (const button of item.querySelectorAll("button")) button.disabled = true;
  const note = document.createElement("p");
  note.className = "warning";
  note.setAttribute("role", "alert");
  note.textContent = KEPT;
  const discard = document.createElement("button");
  discard.type = "button";
  discard.className = "plain";
  discard.textContent = "discard the text";
  discard.addEventListener("click", () => {
    item.remove();
    main.focus({ preventScroll: true });
    showOpen();
  });
  item.append(note, discard);
};
const keep = (item) => {
  item.dataset.key = `kept ${item.dataset.key}`;
  item.classList.add("kept");
  // While its text is on the way to the server, the answer tells what became of it.
  if (!item.querySelector("form[data-sent]")) lock(item);
};
const fields = (item) => [...item.querySelectorAll("summary, button, textarea, pre")];

// Takes over what a person has opened, written and focused in the item that is replaced.
const keepState = (before, after) => {
  const named = (item) => new Map([...item.querySelectorAll("form")].map((form) => [form.elements.command.value, form]));
  const forms = named(after);
  for (const [command, form] of named(before)) {
    const other = forms.get(command);
    if (!other) continue;
    if (form.closest("details")?.open && other.closest("details")) other.closest("details").open = true;
    if (form.elements.text && other.elements.text) other.elements.text.value = form.elements.text.value;
  }
};

// What stays is not touched: its focus, its selection and its scrolled texts stay, too.
const arrange = (list, items) => {
  const wanted = new Set(items);
  for (const child of [...list.children]) if (!wanted.has(child)) child.remove();
  items.forEach((item, index) => {
    if (list.children[index] !== item) list.insertBefore(item, list.children[index] ?? null);
  });
};

const update = (part) => {
  const section = document.getElementById(part.name);
  if (!section) return;
  const list = section.querySelector("ul");
  const left = [...list.children].filter((item) => !part.order.includes(item.dataset.key));
  const kept = left.filter((item) => item.classList.contains("kept") || isWritten(item));
  const places = kept.map((item) => [...list.children].indexOf(item));
  for (const item of kept) if (!item.classList.contains("kept")) keep(item);
  const known = keyed(list);
  const focused = list.contains(document.activeElement) ? document.activeElement : null;
  const owner = focused?.closest("li[data-key]");
  const [ownerKey, place] = [owner?.dataset.key, owner ? fields(owner).indexOf(focused) : -1];
  const selection = focused?.tagName === "TEXTAREA" ? [focused.selectionStart, focused.selectionEnd] : null;
  const before = [...known.keys()].join("\n");
  const items = part.order.map((key) => {
    const old = known.get(key);
    if (!(key in part.items)) return old;
    const fresh = parse(part.items[key]);
    showAges(fresh);
    if (old) keepState(old, fresh);
    fresh.classList.toggle("chosen", old?.classList.contains("chosen") ?? false);
    return fresh;
  });
  if (items.includes(undefined)) return location.reload();
  kept.forEach((item, index) => items.splice(Math.min(places[index], items.length), 0, item));
  if (part.name === "needs") {
    const added = items.filter((item) => !known.has(item.dataset.key));
    const said = added.map((item) => `needs you: ${item.querySelector(".row").textContent}`);
    if (said.length) news.textContent = said.join(". ");
  }
  const changed = items.length !== list.children.length || items.some((item, index) => item !== list.children[index]);
  if (changed) arrange(list, items);
  if (before !== part.order.join("\n")) movedAt = performance.now();
  if (ownerKey !== undefined) {
    const now = keyed(list).get(ownerKey);
    const target = now ? fields(now)[place] : null;
    if (target && target !== document.activeElement) {
      target.focus({ preventScroll: true });
      if (selection) target.setSelectionRange(...selection);
    } else if (!now) {
      main.focus({ preventScroll: true });
    }
  }
  const number = section.querySelector(".number");
  if (number) number.textContent = String(part.count);
  const none = section.querySelector(".none");
  if (none) {
    none.hidden = items.length > 0;
    none.textContent = part.none;
  }
  section.hidden = !none && items.length === 0;
  if ([...list.querySelectorAll("a.row[aria-current]")].some((row) => row.closest("li").dataset.key in part.items)) refreshLane();
};

const showTitle = () => {
  const count = document.querySelectorAll("#needs li").length;
  setTitle(count ? `(${count}) ${project}` : project);
  const reviews = document.querySelectorAll("#needs li[data-key^='review:']").length;
  for (const [path, number] of [["./", count], ["review", reviews]]) {
    document.querySelector(`header nav a[href="${path}"]`).dataset.count = number || "";
  }
};

const act = async (form, submitter) => {
  const item = form.closest("section > ul > li");
  const isDone = await send(form, submitter);
  if (isDone) refreshLane();
  if (item?.classList.contains("kept")) {
    if (isDone) item.remove();
    else lock(item);
  }
};

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.getAttribute("role") === "search") return;
  if (refuseIfStale()) return event.preventDefault();
  if (form.getAttribute("action") !== "act") return;
  event.preventDefault();
  act(form, event.submitter);
});
document.addEventListener("click", (event) => {
  // A key press has no detail; the focus stays on its item.
  if (event.detail > 0 && event.target.closest("li button") && performance.now() - movedAt < SETTLE) {
    event.preventDefault();
    say("the list has just moved: press again", true);
  }
}, true);

showTitle();
showOpen();
connect({
  address: () => {
    const parameters = new URLSearchParams({ since: document.body.dataset.version ?? main.dataset.since, lane: laneToFollow() });
    return `events?${parameters}`;
  },
  to: (source) => {
    source.addEventListener("board", (event) => {
      for (const part of JSON.parse(event.data).parts) update(part);
      showTitle();
      if (showOpen()) reopen();
      document.body.dataset.version = event.lastEventId;
    });
    source.addEventListener("screen", (event) => showScreen(JSON.parse(event.data)));
  },
  seen: followLane,
});

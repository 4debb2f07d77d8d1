// Keeps a page beside the board current: it is fetched again when something was recorded, and when a form was sent. Without this
// script the page can be read, and its forms work.

import { showAges } from "./ages.js";
import { drag } from "./drag.js";
import { say, send } from "./forms.js";
import "./keys.js";
import { connect, refuseIfStale } from "./live.js";
import { showPatches } from "./patch.js";

const main = document.getElementById("board");
// The shortest time between two fetches that no person has asked for.
const PAUSE = 3000;
let seq = Number(main.dataset.seq);
let fetchedAt = 0;
let timer;

const isWriting = () =>
  [...main.querySelectorAll("form[method=post] :is(textarea, input, select)")].some(
    (field) => field.checkVisibility() && (field === document.activeElement || field.value !== (field.defaultValue ?? field.value)),
  ) || main.querySelector("form[data-sent]");

/** @param {string} address @param {string} focus */
const show = async (address, focus) => {
  clearTimeout(timer);
  timer = undefined;
  fetchedAt = Date.now();
  const answer = await fetch(address, { headers: { accept: "text/html" } });
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("board");
  if (!answer.ok || !fresh) return location.reload();
  const opened = [...main.querySelectorAll("details[open][id]")].map((one) => one.id);
  const tab = main.querySelector("input[name=tab]:checked")?.id;
  main.replaceChildren(...fresh.childNodes);
  if (tab && document.getElementById(tab)) document.getElementById(tab).checked = true;
  seq = Math.max(seq, Number(fresh.dataset.seq));
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
  showAges(main);
  showPatches(main);
  drag(main, act);
  if (focus) (document.getElementById(focus)?.querySelector("a, button, summary") ?? main).focus({ preventScroll: true });
};

const refresh = () => show(location.pathname + location.search, "");

const later = () => {
  if (timer !== undefined) return;
  timer = setTimeout(() => {
    timer = undefined;
    // What a person writes stays: the page follows when it is sent or left.
    if (isWriting()) later();
    else if (!main.contains(document.activeElement) || document.activeElement === main) refresh();
    else {
      const [scroll, id] = [scrollY, document.activeElement.closest("[id]")?.id ?? ""];
      show(location.pathname + location.search, id).then(() => scrollTo(0, scroll));
    }
  }, Math.max(200, PAUSE - (Date.now() - fetchedAt)));
};

/** @param {HTMLFormElement} form @param {HTMLElement | null} submitter */
const act = async (form, submitter) => {
  const back = form.elements.namedItem("back")?.value ?? location.pathname + location.search;
  const place = form.closest("[id]:not(main)")?.id ?? "board";
  if (!(await send(form, submitter))) return;
  const scroll = scrollY;
  history.replaceState(null, "", back);
  await show(back, place);
  scrollTo(0, Math.min(scroll, document.documentElement.scrollHeight));
};

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.getAttribute("action") !== "act") return;
  event.preventDefault();
  if (!refuseIfStale()) act(form, event.submitter).catch(() => say("error: the server does not answer", true));
});

drag(main, act);
connect({
  address: () => "events?beats=yes",
  to: () => {},
  seen: (newest) => {
    if (newest > seq) {
      seq = newest;
      later();
    }
  },
});

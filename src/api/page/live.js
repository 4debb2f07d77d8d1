// Says whether the page is current. The server proves it with a beat, at each change and at least every 15 s.

import { say } from "./forms.js";

const connection = document.getElementById("connection");
const result = document.getElementById("result");
// So long after the last beat the page is not live, in milliseconds.
const BEAT_LIMIT = 19000;
// The time between two attempts to connect again. The browser tries its open connections first, which may all be dead.
const RETRY_DELAY = 5000;
// The timers of a hidden tab are slow; those of a worker are not.
const clock = new Worker("clock.js");

let source;
let listen;
// When the page was proven current last, and whether it may have changed since.
let provenAt = Date.now();
let isOld = false;
let title = document.title;

const pad = (number) => String(number).padStart(2, "0");
const asOf = () => {
  const at = new Date(provenAt);
  return `as of ${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
};

const showTitle = () => {
  document.title = isOld ? `${asOf()} · ${title}` : title;
};

/** @param {string} text */
export const setTitle = (text) => {
  title = text;
  showTitle();
};

/** Whether the page may have changed. It then asks for a reload. */
export const refuseIfStale = () => {
  if (!isOld) return false;
  say(`not done: this page is ${asOf()}. Reload it first: copy what you have written.\n`, true);
  const button = document.createElement("button");
  button.textContent = "reload the page";
  button.addEventListener("click", () => location.reload());
  result.append(button);
  return true;
};

// The server has proven the page, so many milliseconds ago.
const proven = (age) => {
  provenAt = Date.now() - age;
  isOld = false;
  connection.textContent = "live";
  connection.className = "";
  document.body.classList.remove("stale");
  clock.postMessage(BEAT_LIMIT - age);
  showTitle();
};

const stale = (why) => {
  isOld = true;
  connection.textContent = `${asOf()}, not current: ${why}`;
  connection.className = "lost";
  document.body.classList.add("stale");
  showTitle();
};

const isOverdue = () => !isOld && Date.now() - provenAt > BEAT_LIMIT;

const reconnect = () => {
  if (source.readyState === EventSource.CLOSED) return;
  stale("the server is silent. Connecting again …");
  source.close();
  open();
};

const open = () => {
  source = new EventSource(listen.address());
  listen.to(source);
  source.addEventListener("beat", (event) => {
    // This machine has slept: what comes now may have waited on the way.
    if (isOverdue()) return reconnect();
    const { age_ms, lost, seq } = JSON.parse(event.data);
    if (age_ms > BEAT_LIMIT) return;
    if (lost === null) {
      proven(age_ms);
      listen.seen(seq);
    } else {
      stale(lost);
    }
  });
  source.addEventListener("error", () => {
    stale(
      source.readyState === EventSource.CLOSED
        ? "the server has ended, or this browser is not paired any more. Reload the page"
        : "the connection is lost. Connecting again …",
    );
  });
  clock.postMessage(isOld ? RETRY_DELAY : BEAT_LIMIT);
};

/** Connects anew, with another address. */
export const reopen = () => {
  source.close();
  open();
};

/** Connects. `address` is that of the stream, `to` adds listeners to it, `seen` hears the newest event with each proof.
 * @param {{ address: () => string, to: (source: EventSource) => void, seen: (seq: number) => void }} what */
export const connect = (what) => {
  listen = what;
  clock.addEventListener("message", reconnect);
  document.addEventListener("visibilitychange", () => isOverdue() && reconnect());
  open();
};

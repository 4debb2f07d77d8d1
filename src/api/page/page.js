"use strict";
// Keeps the board current: the server sends the HTML of changed items. Without this script the page can be read, and its forms
// work.
(() => {
  const main = document.getElementById("board");
  const connection = document.getElementById("connection");
  const news = document.getElementById("news");
  const result = document.getElementById("result");
  const project = document.title;
  // A beat comes every 15 s. So long after the last one the page is not live, in milliseconds.
  const BEAT_LIMIT = 19000;
  // The time between two attempts to connect again.
  const RETRY_DELAY = 8000;
  // The timers of a hidden tab are slow; those of a worker are not.
  const clock = new Worker("/clock.js");
  let source;
  // When the board was proven current last, and whether it may have changed since.
  let provenAt = Date.now();
  let isStale = false;
  // A tap so soon after the list has moved may be meant for another item.
  const SETTLE = 400;
  let movedAt = -SETTLE;

  const age = (at) => {
    const minutes = Math.max(0, Math.floor((Date.now() - Date.parse(at)) / 60000));
    if (minutes < 1) return "<1m";
    const [days, hours] = [Math.floor(minutes / 1440), Math.floor(minutes / 60)];
    if (days) return hours % 24 ? `${days}d ${hours % 24}h` : `${days}d`;
    if (hours) return minutes % 60 ? `${hours}h ${minutes % 60}m` : `${hours}h`;
    return `${minutes}m`;
  };
  const showAges = (root) => {
    for (const time of root.querySelectorAll("time")) {
      const text = age(time.dateTime);
      if (time.textContent !== text) time.textContent = text;
    }
  };

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
    const owner = focused?.closest("li");
    const [ownerKey, place] = [owner?.dataset.key, owner ? fields(owner).indexOf(focused) : -1];
    const selection = focused?.tagName === "TEXTAREA" ? [focused.selectionStart, focused.selectionEnd] : null;
    const before = [...known.keys()].join("\n");
    const items = part.order.map((key) => {
      const old = known.get(key);
      if (!(key in part.items)) return old;
      const fresh = parse(part.items[key]);
      showAges(fresh);
      if (old) keepState(old, fresh);
      return fresh;
    });
    if (items.includes(undefined)) return location.reload();
    kept.forEach((item, index) => items.splice(Math.min(places[index], items.length), 0, item));
    if (part.name === "needs") {
      const added = items.filter((item) => !known.has(item.dataset.key));
      const said = added.map((item) => `needs you: ${item.querySelector(".head").textContent}: ${item.querySelector(".line").textContent}`);
      if (said.length) news.textContent = said.join(". ");
    }
    const changed = items.length !== list.children.length || items.some((item, index) => item !== list.children[index]);
    if (changed) list.replaceChildren(...items);
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
    if (number) number.textContent = String(part.order.length);
    const none = section.querySelector(".none");
    if (none) none.hidden = items.length > 0;
    section.hidden = !none && items.length === 0;
    showTitle();
  };

  const showTitle = () => {
    const count = document.querySelectorAll("#needs li:not(.kept)").length;
    const title = count ? `(${count}) ${project}` : project;
    document.title = isStale ? `${asOf()} · ${title}` : title;
  };

  const pad = (number) => String(number).padStart(2, "0");
  const asOf = () => {
    const at = new Date(provenAt);
    return `as of ${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  };

  const say = (text, refused) => {
    result.textContent = text;
    result.classList.toggle("refused", refused);
    result.hidden = false;
  };

  const act = async (form, submitter) => {
    const body = new URLSearchParams(new FormData(form, submitter));
    const buttons = [...form.querySelectorAll("button")];
    const item = form.closest("li");
    let isDone = false;
    buttons.forEach((button) => (button.disabled = true));
    form.dataset.sent = "";
    try {
      const answer = await fetch(form.action, { method: "POST", headers: { accept: "application/json" }, body });
      const document = await answer.json();
      isDone = answer.ok;
      if (answer.ok) {
        const notes = document.notes.map((note) => `note: ${note}`);
        say([document.line, ...notes].join("\n"), false);
        form.reset();
        const details = form.closest("details");
        if (details) details.open = false;
      } else {
        const { message, code, hint } = document.error;
        say(`error: ${message} (${code})` + (hint ? `\nhint: ${hint}` : ""), true);
      }
    } catch {
      say("error: the server does not answer; nothing is known of the command", true);
    } finally {
      delete form.dataset.sent;
      buttons.forEach((button) => (button.disabled = false));
      if (item?.classList.contains("kept")) {
        if (isDone) item.remove();
        else lock(item);
      }
    }
  };

  const askForReload = () => {
    say(`not done: this page is ${asOf()}. Reload it first: copy what you have written.\n`, true);
    const button = document.createElement("button");
    button.textContent = "reload the page";
    button.addEventListener("click", () => location.reload());
    result.append(button);
  };

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (isStale) {
      event.preventDefault();
      return askForReload();
    }
    if (form.getAttribute("action") !== "/act") return;
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

  // The server has proven the board, so many milliseconds ago.
  const proven = (age) => {
    provenAt = Date.now() - age;
    isStale = false;
    connection.textContent = "live";
    connection.className = "";
    document.body.classList.remove("stale");
    clock.postMessage(BEAT_LIMIT - age);
    showTitle();
  };
  const stale = (why) => {
    isStale = true;
    connection.textContent = `${asOf()}, not current: ${why}`;
    connection.className = "lost";
    document.body.classList.add("stale");
    showTitle();
  };
  const isOverdue = () => !isStale && Date.now() - provenAt > BEAT_LIMIT;
  const reconnect = () => {
    if (source.readyState === EventSource.CLOSED) return;
    stale("the server is silent. Connecting again …");
    source.close();
    connect();
  };
  clock.addEventListener("message", reconnect);
  document.addEventListener("visibilitychange", () => isOverdue() && reconnect());

  const connect = () => {
    source = new EventSource(`/events?since=${encodeURIComponent(document.body.dataset.version ?? main.dataset.since)}`);
    source.addEventListener("board", (event) => {
      for (const part of JSON.parse(event.data).parts) update(part);
      document.body.dataset.version = event.lastEventId;
    });
    source.addEventListener("beat", (event) => {
      // This machine has slept: what comes now may have waited on the way.
      if (isOverdue()) return reconnect();
      const { age_ms, lost } = JSON.parse(event.data);
      if (age_ms > BEAT_LIMIT) return;
      if (lost === null) proven(age_ms);
      else stale(lost);
    });
    source.addEventListener("error", () => {
      stale(source.readyState === EventSource.CLOSED
        ? "the server has ended. Open it again: fairway serve --http --open"
        : "the connection is lost. Connecting again …");
    });
    clock.postMessage(isStale ? RETRY_DELAY : BEAT_LIMIT);
  };

  showAges(document);
  showTitle();
  setInterval(() => showAges(document), 60000);
  connect();
})();

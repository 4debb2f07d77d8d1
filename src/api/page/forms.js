// Sends a form to the server, and tells what came of it.

const result = document.getElementById("result");
// The height in the window at which the person last pressed.
let pressedAt = 0;
document.addEventListener("pointerdown", (event) => (pressedAt = event.clientY), true);

/** @param {string} text @param {boolean} refused */
export const say = (text, refused) => {
  result.textContent = text;
  result.classList.toggle("refused", refused);
  result.hidden = false;
  const close = document.createElement("button");
  close.type = "button";
  close.className = "close";
  close.textContent = "close";
  close.addEventListener("click", () => (result.hidden = true));
  result.append("\n", close);
  // It covers no control that the person is about to press again.
  result.classList.remove("top");
  result.classList.toggle("top", result.getBoundingClientRect().top <= pressedAt);
};

// Takes the last command back, while the server allows it.
const UNDO_TIME = 60000;
const offerUndo = (command) => {
  const form = document.createElement("form");
  [form.method, form.action] = ["post", "act"];
  const field = (name, value) => Object.assign(form.appendChild(document.createElement("input")), { type: "hidden", name, value });
  field("command", command);
  if (location.pathname.endsWith("/review")) field("back", `review?task=${encodeURIComponent(command.split(" ")[3])}`);
  const button = form.appendChild(document.createElement("button"));
  button.textContent = "undo";
  button.setAttribute("aria-keyshortcuts", "u");
  result.append(form);
  setTimeout(() => form.remove(), UNDO_TIME);
};

/** Whether the server has done it.
 * @param {HTMLFormElement} form @param {HTMLElement | null} submitter */
export const send = async (form, submitter) => {
  const body = new URLSearchParams(new FormData(form, submitter));
  const buttons = [...form.querySelectorAll("button")];
  for (const button of buttons) button.disabled = true;
  form.dataset.sent = "";
  try {
    const answer = await fetch(form.action, { method: "POST", headers: { accept: "application/json" }, body });
    const told = await answer.json();
    if (answer.ok) {
      const notes = told.notes.map((note) => `note: ${note}`);
      say([`$ ${told.command}`, told.line, ...notes].join("\n"), false);
      if (told.undo) offerUndo(told.undo);
      form.reset();
      form.closest(".fresh")?.remove();
      const details = form.closest("details");
      if (details) details.open = false;
    } else {
      const { message, code, hint } = told.error;
      say(`error: ${message} (${code})` + (hint ? `\nhint: ${hint}` : ""), true);
    }
    return answer.ok;
  } catch {
    say("error: the server does not answer; nothing is known of the command", true);
    return false;
  } finally {
    delete form.dataset.sent;
    for (const button of buttons) button.disabled = false;
  }
};

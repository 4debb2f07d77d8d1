// Drags a task's card into another group. The same is done by the form of the task, without a mouse.

/** Makes the cards of a page movable. `act` sends a form.
 * @param {HTMLElement} main @param {(form: HTMLFormElement, submitter: null) => Promise<void>} act */
export const drag = (main, act) => {
  // A browser that may only look has no forms.
  if (!main.querySelector("form[method=post]")) return;
  for (const card of main.querySelectorAll("li[data-task]")) {
    card.draggable = true;
    card.addEventListener("dragstart", (event) => {
      event.dataTransfer.setData("text/plain", card.dataset.task);
      event.dataTransfer.effectAllowed = "move";
      // Groups without a card appear once the card is on its way.
      setTimeout(() => document.body.classList.add("dragging"));
    });
    card.addEventListener("dragend", () => document.body.classList.remove("dragging"));
  }
  for (const group of main.querySelectorAll("ul[data-drop]")) {
    group.addEventListener("dragover", (event) => {
      event.preventDefault();
      group.classList.add("over");
    });
    group.addEventListener("dragleave", () => group.classList.remove("over"));
    group.addEventListener("drop", (event) => {
      event.preventDefault();
      group.classList.remove("over");
      document.body.classList.remove("dragging");
      const task = event.dataTransfer.getData("text/plain");
      if (!document.getElementById(`card-${task}`) || group.querySelector(`[id="card-${CSS.escape(task)}"]`)) return;
      const form = document.createElement("form");
      form.method = "post";
      form.action = "act";
      const field = document.createElement("input");
      [field.type, field.name, field.value] = ["hidden", "command", `fairway task edit ${task} ${group.dataset.drop}`];
      form.append(field);
      act(form, null);
    });
  }
};

"use strict";
// Answers so many milliseconds after the last message, also while the tab is hidden.
let timer;
onmessage = (event) => {
  clearTimeout(timer);
  timer = setTimeout(() => postMessage(null), event.data);
};

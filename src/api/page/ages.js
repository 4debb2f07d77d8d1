// Writes the ages of times, by the clock of this browser.

const age = (at) => {
  const minutes = Math.max(0, Math.floor((Date.now() - Date.parse(at)) / 60000));
  if (minutes < 1) return "<1m";
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor(minutes / 60)];
  if (days) return hours % 24 ? `${days}d ${hours % 24}h` : `${days}d`;
  if (hours) return minutes % 60 ? `${hours}h ${minutes % 60}m` : `${hours}h`;
  return `${minutes}m`;
};

/** @param {ParentNode} root */
export const showAges = (root) => {
  for (const time of root.querySelectorAll("time")) {
    const text = age(time.dateTime);
    if (time.textContent !== text) time.textContent = text;
  }
};

setInterval(() => showAges(document), 60000);
showAges(document);

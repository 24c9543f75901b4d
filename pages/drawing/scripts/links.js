"use strict";
// The ways from one page to another: a command or link to copy or to share, and the code of a table.
function copy(button) {
  const range = document.createRange();
  range.selectNodeContents(button.previousElementSibling);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  // Without HTTPS there is no navigator.clipboard.
  if (document.execCommand("copy")) button.textContent = button.dataset.done;
}

document.addEventListener("click", ({ target }) => {
  if (target.dataset.done) copy(target);
  if (target.dataset.share) navigator.share({ url: target.dataset.share });
});
// The seats that this browser holds, the latest first, of which the server knows nothing until they are opened.
const recent = JSON.parse(localStorage.getItem("recent") || "[]").filter((code) => localStorage.getItem(`seat ${code}`));
const seatList = document.getElementById("seats");
if (seatList && recent.length) {
  for (const code of recent) {
    const item = document.createElement("li"), way = document.createElement("a");
    way.href = `play/${code}`;
    way.textContent = code;
    item.append(way);
    seatList.lastChild.append(item);
  }
  seatList.hidden = false;
}
const hosts = document.getElementById("hosts");
if (hosts && localStorage.getItem("host")) hosts.hidden = false;
if (navigator.share) document.body.classList.add("shares"); // only where there is HTTPS
const find = document.getElementById("find");
if (find) {
  find.onsubmit = (event) => {
    event.preventDefault();
    location.href = `play/${find.elements.code.value.trim().toUpperCase()}`;
  };
}

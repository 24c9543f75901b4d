"use strict";
// The page of an evening's host. It asks as the admin socket is asked, with the key of the link that opened it.
const key = /^#([\w-]{43})$/.exec(location.hash)?.[1] ?? localStorage.getItem("host");
if (key) localStorage.setItem("host", key);
history.replaceState(null, "", location.pathname + location.search);

function order({ dataset }) {
  if (watched.readyState === WebSocket.OPEN) watched.send(JSON.stringify({ ...JSON.parse(dataset.ask), token: key }));
}

document.querySelector("main").onclick = ({ target }) => {
  if (target.dataset.ask && (!target.dataset.sure || confirm(target.dataset.sure))) order(target);
};

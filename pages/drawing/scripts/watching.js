"use strict";
// A page that is only looked at: it asks for nothing.
const quiet = 15000; // milliseconds without a word after which a line counts as dead; the server speaks every ten seconds
const patience = 60000; // milliseconds for which a table that was there may be nowhere, between two servers
let seen = -patience; // when something was shown last
let watched = null; // its line, on which only the page of a host has something to say

function watch() {
  const address = lineTo(document.body.dataset.live);
  if (performance.now() - seen < patience) address.searchParams.set("again", "1");
  const socket = watched = new WebSocket(address);
  const closed = ({ code }) => {
    clearTimeout(deadline);
    if (code !== 1000) later(watch); // otherwise nothing more is to be seen, and the server has said so
  };
  const abandon = () => { // a dead line says nothing of its end
    socket.onclose = socket.onmessage = null;
    socket.close();
    closed({ code: 1006 });
  };
  let deadline = setTimeout(abandon, quiet);
  socket.onopen = () => { if (window.order) window.order(document.body); };
  socket.onclose = closed;
  socket.onmessage = ({ data }) => {
    clearTimeout(deadline);
    deadline = setTimeout(abandon, quiet);
    pause = 500;
    seen = performance.now();
    become("here");
    const { moved, ...parts } = JSON.parse(data);
    if (moved) { // the table is at another server of the cluster, or the players go on at another table
      const there = new URL(moved, location.href);
      there.search = there.search || location.search;
      location.replace(there);
    }
    show(parts);
  };
}

if (document.body.dataset.live) {
  const back = document.getElementById("back");
  if (back && localStorage.getItem(`seat ${document.body.dataset.live}`)) back.hidden = false;
  watch();
}

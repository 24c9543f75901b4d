"use strict";
// The line to the server, as the reader knows it.
const longest = 2500; // milliseconds that grow between two attempts to connect; up to as many come on top
let pause = 500;
let line; // "connecting" at first, then "here", or "gone" until something comes again

function become(state) {
  line = document.body.dataset.line = state;
  document.getElementById("lost").hidden = state !== "gone";
}

/** Return the address of a websocket of this server, in whose language the reader reads. */
function lineTo(path) {
  const address = new URL(path, location.href);
  // Not every browser says with a websocket which languages its user reads.
  address.searchParams.set("lang", document.documentElement.lang);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  return address;
}

/** Try again after a pause: a different one for each page, or all of them would come back at once. */
function later(again) {
  become("gone");
  const due = setTimeout(again, pause * (1 + Math.random()));
  pause = Math.min(2 * pause, longest);
  return due;
}

become("connecting");

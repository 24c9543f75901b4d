"use strict";
// What is shown comes from the server as HTML, by the ids of the elements that it belongs into.
const lost = document.getElementById("lost");
const longest = 2500; // milliseconds that grow between two attempts to connect; up to as many come on top
const quiet = 15000; // milliseconds without a word after which a line counts as dead; the server speaks every ten seconds
const patience = 60000; // milliseconds for which a table that was there may be nowhere, between two servers
let pause = 500;
let seen = -patience; // when something was shown last
let line; // "connecting" at first, then "here", or "gone" until something comes again

function become(state) {
  line = document.body.dataset.line = state;
  lost.hidden = state !== "gone";
}

function local(moment) { // in the reader's own time zone
  return new Date(moment).toLocaleString(document.documentElement.lang, { dateStyle: "full", timeStyle: "short" });
}

/** Return seconds as minutes and seconds, or from an hour on as days and hours or hours and minutes, in words. */
function duration(left) {
  if (left < 3600) return `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  const day = Math.floor(left / 86400), hour = Math.floor(left / 3600) % 24, minute = Math.floor(left / 60) % 60;
  return Object.entries(day ? { day, hour } : { hour, minute }).map(([unit, number]) =>
    number.toLocaleString(document.documentElement.lang, { style: "unit", unit, unitDisplay: "short" })).join(" ");
}

const dues = new WeakMap(); // when the seconds of elements that show them are up
function countDown() {
  for (const each of document.querySelectorAll("[data-left]")) {
    if (!dues.has(each)) dues.set(each, performance.now() + 1000 * each.dataset.left);
    each.textContent = duration(Math.max(0, Math.round((dues.get(each) - performance.now()) / 1000)));
  }
}
setInterval(countDown, 500);

function show({ scene, ...parts }) {
  if (scene) document.body.className = scene;
  const focused = document.activeElement;
  const name = ["href", "data-choose", "data-do"].find((each) => focused.hasAttribute(each));
  const value = name && focused.getAttribute(name);
  for (const [id, inside] of Object.entries(parts)) {
    const element = document.getElementById(id);
    if (element) element.innerHTML = inside.replace(/\d{4}-\d\d-\d\dT\d\d:\d\dZ/g, local);
  }
  countDown();
  const [ground, hand] = ["hex0", "hand"].map((id) => document.getElementById(id));
  if (ground) document.body.classList.toggle("blank", !ground.firstChild);
  if (hand) document.body.classList.toggle("moves", hand.firstChild !== null);
  if ("menu" in parts) document.body.classList.toggle("seated", parts.menu !== "");
  // What had the focus may be another element now.
  const heir = name && !focused.isConnected && document.querySelector(`[${name}="${CSS.escape(value)}"]`);
  if (heir) heir.focus({ preventScroll: true });
}

function connect() {
  const address = new URL(document.body.dataset.live, location.href);
  // Not every browser says with a websocket which languages its user reads.
  address.searchParams.set("lang", document.documentElement.lang);
  if (performance.now() - seen < patience) address.searchParams.set("again", "1");
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  const socket = new WebSocket(address);
  const closed = ({ code }) => {
    clearTimeout(deadline);
    if (code === 1000) return; // nothing more is to be seen, and the server has said so
    become("gone");
    // Different for each page, or all of them would come back at once.
    setTimeout(connect, pause * (1 + Math.random()));
    pause = Math.min(2 * pause, longest);
  };
  const abandon = () => { // a dead line says nothing of its end
    socket.onclose = socket.onmessage = null;
    socket.close();
    closed({ code: 1006 });
  };
  let deadline = setTimeout(abandon, quiet);
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

function copy(button) {
  const text = button.previousElementSibling;
  const range = document.createRange();
  range.selectNodeContents(text);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  // Without HTTPS there is no navigator.clipboard.
  if (document.execCommand("copy")) button.textContent = button.dataset.done;
}

document.addEventListener("click", ({ target }) => {
  if (target.dataset.done) copy(target);
  if (target.dataset.share) navigator.share({ url: target.dataset.share });
});
if (navigator.share) document.body.classList.add("shares"); // only where there is HTTPS
const find = document.getElementById("find");
if (find) {
  find.onsubmit = (event) => {
    event.preventDefault();
    location.href = `play/${find.elements.code.value.trim().toUpperCase()}`;
  };
}
become("connecting");
if (document.body.dataset.live) {
  const back = document.getElementById("back");
  if (back && localStorage.getItem(`seat ${document.body.dataset.live}`)) back.hidden = false;
  connect();
}

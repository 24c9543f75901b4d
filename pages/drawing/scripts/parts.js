"use strict";
// What is shown comes from the server as HTML, by the ids of the elements that it belongs into.
const dues = new WeakMap(); // when the seconds of elements that show them are up

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

function countDown() {
  for (const each of document.querySelectorAll("[data-left]")) {
    if (!dues.has(each)) dues.set(each, performance.now() + 1000 * each.dataset.left);
    each.textContent = duration(Math.max(0, Math.round((dues.get(each) - performance.now()) / 1000)));
  }
}

/** Return what tells a node from the others beside it, whatever else changes in it. */
function nameOf(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return node.nodeName;
  const names = ["id", "data-key", "href", "data-choose", "data-do", "data-go", "name", "points", "transform"];
  const name = names.map((each) => node.getAttribute(each)).find(Boolean);
  const first = node.firstElementChild;
  if (node.nodeName === "DETAILS") return `DETAILS ${first.textContent}`;
  return `${node.nodeName} ${name || (node.nodeName === "LI" && first && nameOf(first)) || ""}`;
}

/**
 * Make what is in an element like what is in another. Nodes that stay are kept, with their focus, what has been
 * typed in them, and whether they are open.
 */
function morph(element, model) {
  const old = new Map();
  for (const node of element.childNodes) old.set(nameOf(node), (old.get(nameOf(node)) || []).concat(node));
  const nodes = [...model.childNodes].map((wanted) => [wanted, (old.get(nameOf(wanted)) || []).shift()]);
  for (const left of old.values()) for (const node of left) node.remove();
  let next = element.firstChild;
  for (const [wanted, node] of nodes) {
    if (node === next && next) next = next.nextSibling;
    else element.insertBefore(node || wanted, next);
    if (node && node.nodeType === Node.ELEMENT_NODE) adopt(node, wanted);
    else if (node && node.nodeValue !== wanted.nodeValue) node.nodeValue = wanted.nodeValue;
  }
}

/** Make an element like another of the same name, but whether it is open is the reader's to say. */
function adopt(element, model) {
  dues.delete(element);
  for (const { name } of [...element.attributes]) {
    if (name !== "open" && !model.hasAttribute(name)) element.removeAttribute(name);
  }
  for (const { name, value } of model.attributes) {
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  }
  morph(element, model);
}

function show({ scene, ...parts }) {
  if (scene) document.body.className = scene;
  const before = onBoard();
  for (const [id, inside] of Object.entries(parts)) {
    const element = document.getElementById(id);
    if (!element) continue;
    const model = element.cloneNode(false);
    model.innerHTML = inside.replace(/\d{4}-\d\d-\d\dT\d\d:\d\dZ/g, local);
    morph(element, model);
  }
  countDown();
  const [ground, hand] = ["hex0", "hand"].map((id) => document.getElementById(id));
  if (ground) document.body.classList.toggle("blank", !ground.firstChild);
  if (hand) document.body.classList.toggle("moves", hand.firstChild !== null);
  moveFrom(before);
  if ("menu" in parts) document.body.classList.toggle("seated", parts.menu !== "");
}

setInterval(countDown, 500);

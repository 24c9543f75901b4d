"use strict";
// What changes on the board is seen to move: a piece arrives from its player, a capture leaves, a laurel goes to
// its owner. Whoever wants nothing to move sees the change alone.
const motion = { duration: 300, easing: "ease-out" };
const here = { transform: "none", opacity: 1 };
const still = matchMedia("(prefers-reduced-motion: reduce)");
const most = 8; // changes that one move or step of the scoring makes; more of them are another moment

/** Return the pieces and the laurels taken, by the hexes that they are on, and where these are. */
function onBoard() {
  const found = new Map(), ground = document.getElementById("hex0");
  found.shown = ground && ground.firstChild !== null; // otherwise the board is not there yet
  for (const each of document.querySelectorAll("[id^='hex'] .stone, [id^='hex'] .won")) {
    const hex = each.closest("[id^='hex']");
    const groups = [hex.querySelector("g"), each.parentNode];
    found.set(hex.id, { each, at: groups.map((group) => group.getAttribute("transform")).join(" ") });
  }
  return found;
}

/** Return how far the owner's row is from an element on the board, in the board's units. */
function wayToOwner(element, board) {
  const owner = [...element.classList].find((name) => name.startsWith("of-"));
  const row = document.querySelector(`#players .people-${owner.slice(3)}`);
  if (!row) return null;
  const [from, to] = [row, element].map((each) => each.getBoundingClientRect());
  const scale = board.getScreenCTM().a;
  const x = (from.left + from.width / 2 - to.left - to.width / 2) / scale;
  const y = (from.top + from.height / 2 - to.top - to.height / 2) / scale;
  return `translate(${x}px, ${y}px)`;
}

/** Have something that is no longer there, or goes away, move for a moment above the board. */
function sendOff(element, at, board, frames) {
  const place = document.createElementNS("http://www.w3.org/2000/svg", "g");
  place.setAttribute("transform", at);
  place.append(element);
  board.append(place);
  element.animate(frames(element), motion).onfinish = () => place.remove();
}

/** Show what is different on the board from what was standing there. */
function moveFrom(before) {
  const after = onBoard(), board = document.querySelector(".table > .board");
  const came = [...after].filter(([hex]) => !before.has(hex)), left = [...before].filter(([hex]) => !after.has(hex));
  if (still.matches || !before.shown || came.length + left.length > most || document.hidden) return;
  for (const [, { each, at }] of came) {
    if (each.classList.contains("won")) {
      const leaves = (laurel) => [here, { transform: wayToOwner(laurel, board) || "scale(2)", opacity: 0.3 }];
      sendOff(each.cloneNode(true), at, board, leaves);
    } else each.animate([{ transform: wayToOwner(each, board) || "scale(0)", opacity: 0.5 }, here], motion);
  }
  for (const [, { each, at }] of left) {
    if (each.classList.contains("stone")) sendOff(each, at, board, () => [here, { transform: "scale(1.7)", opacity: 0 }]);
  }
}

"use strict";
// The board is one stop of the Tab key; from there, arrows lead to the next field or hill that can be touched.
const directions = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
let focused = null; // what had the focus last
let standing = null; // the name of the field where the player was last

function middleOf(field) {
  const box = field.getBBox();
  return [box.x + box.width / 2, box.y + box.height / 2];
}

/** Return the nearest field in a direction, counted along and across: so every field can be reached. */
function beside(from, [right, down]) {
  const [x, y] = middleOf(from);
  let nearest = null, least = Infinity;
  for (const each of document.querySelectorAll(".touch")) {
    const [dx, dy] = [middleOf(each)[0] - x, middleOf(each)[1] - y];
    const ahead = dx * right + dy * down, length = Math.abs(dx) + Math.abs(dy);
    if (ahead > 1 && length < least) [nearest, least] = [each, length];
  }
  return nearest;
}

function stand(field) {
  standing = field.dataset.choose;
  oneStop();
  field.focus({ preventScroll: true });
}

/** Have one field, the last one the player was at, be where the Tab key leads. */
function oneStop() {
  const fields = [...document.querySelectorAll(".touch")];
  const stop = fields.find((each) => each.dataset.choose === standing) ?? fields[0];
  for (const each of fields) each.setAttribute("tabindex", each === stop ? "0" : "-1");
}

/** After the page has changed: let nobody who uses keys begin again at its top. */
function refocus() {
  oneStop();
  if (!focused || document.activeElement !== document.body || (focused.isConnected && !focused.disabled)) return;
  const heirs = [".touch[tabindex='0']", "#ask button", "#menu button"];
  heirs.map((each) => document.querySelector(each)).find(Boolean)?.focus({ preventScroll: true });
}

document.addEventListener("focusin", ({ target }) => { focused = target; });

document.onkeydown = (event) => {
  const { key, target } = event;
  if (key === "Escape") for (const each of document.querySelectorAll(".sheet")) each.open = false;
  if (!target.classList.contains("touch")) return;
  if (key === "Enter" || key === " ") {
    event.preventDefault(); // a space would scroll the page
    target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  } else if (key in directions) {
    event.preventDefault();
    const next = beside(target, directions[key]);
    if (next) stand(next);
  }
};

"use strict";
// What people at the table say, and the server.
const heard = new Set();
let waits = false; // whether the table is in the list and waits for players

/** Say where remarks are typed that the lobby hears them, while it does. */
function showWhoHears() {
  part("words-said").placeholder = waits && known && token !== ticket ? texts.aloud : "";
}

function tell(who, text) {
  const remark = document.createElement("li");
  const name = document.createElement("b");
  name.textContent = who;
  remark.append(name, " ", text);
  part("said").append(remark);
  part("chat").scrollTop = part("chat").scrollHeight; // and never the page, under somebody's finger
}

/** Return the button for a sign, if a text is one. */
function signOf(text) {
  return [...part("signs").children].find((each) => each.textContent === text);
}

/** Show a sign for some seconds at the seat of whoever gave it. */
function showSign({ seat: from, text }) {
  const box = part("players").children[from]?.getBoundingClientRect();
  if (!box || !signOf(text)) return;
  const shown = document.createElement("span");
  shown.className = "sign";
  shown.setAttribute("aria-hidden", "true"); // it is told where it is said
  shown.textContent = text;
  shown.style.left = `${box.left + box.width / 2}px`;
  shown.style.top = `${box.bottom}px`;
  document.body.append(shown);
  setTimeout(() => shown.remove(), 4000);
}

/** Return a remark, with the words of a sign. */
function inWords(text) {
  const sign = signOf(text);
  return sign ? `${text} ${sign.title}` : text;
}

/** Tell what is said in the lobby, as a table hears it that waits for players. */
function overhear({ name, text }) {
  tell(texts.overheard.replace("{name}", () => name), inWords(text));
}

function hear({ number, seat: from, spectator, text, name, missed }) {
  if (number && heard.has(number)) return;
  heard.add(number);
  const who = name ?? seats[from]?.name ?? `${texts.spectator} ${spectator ?? ""}`;
  tell(missed ? texts.missed.replace("{news}", () => who) : who, inWords(text));
}

part("say").onsubmit = (event) => {
  event.preventDefault();
  const words = part("words-said");
  const text = words.value.trim().normalize("NFC");
  if (text) ask({ t: "say", text });
  words.value = "";
};

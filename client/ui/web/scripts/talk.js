"use strict";
// What people at the table say, and the server.
const heard = new Set();

function tell(who, text) {
  const remark = document.createElement("li");
  const name = document.createElement("b");
  name.textContent = who;
  remark.append(name, " ", text);
  part("said").append(remark);
  part("chat").scrollTop = part("chat").scrollHeight; // and never the page, under somebody's finger
}

function hear({ number, seat: from, spectator, text, name, missed }) {
  if (number && heard.has(number)) return;
  heard.add(number);
  const who = name ?? seats[from]?.name ?? `${texts.spectator} ${spectator ?? ""}`;
  tell(missed ? texts.missed.replace("{news}", () => who) : who, text);
}

part("say").onsubmit = (event) => {
  event.preventDefault();
  const words = part("words-said");
  const text = words.value.trim().normalize("NFC");
  if (text) ask({ t: "say", text });
  words.value = "";
};

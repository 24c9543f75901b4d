"use strict";
// The seat that this browser holds, or asks for, and the tokens that hold it.
const evening = "EVENING"; // in place of a table's code
const dismissed = ["evening-full", "not-signed-up", "removed-from-evening"]; // from the evening
const away = ["table-closed", "closed-by-server", "removed-by-server", "removed"];
const passing = ["not-stored", "server-stopping", "too-many-guesses", "too-many-tables", "too-soon"];
let table = texts.play;
let token = null; // is the seat: it goes nowhere but to the server, in a message
let made = null; // a token of this browser's own, which is to hold the seat that is asked for
let link = null; // the token of a seat that somebody has sent, who still knows it
let owns = false; // whether the server takes tokens of this browser's own
let ticket = localStorage.getItem("evening"); // which is the token of each seat in the evening
let seat = null;
let seats = [];
let listed = true; // as online, or not to be: the server has no list, or has been asked
let joining = null; // the message that asks for a seat

function welcomed(message) {
  owns = message.own_tokens;
  listed = !message.invitations;
  seek();
  if (message.evening && joining?.t !== "sign-up") comeBack();
}

/** Take part in the evening again, as whom this browser has signed up. */
function comeBack() {
  if (ticket) ask({ t: "sign-up", name: localStorage.getItem("name") || "-", token: ticket, back: true });
}

function seek() {
  // Sent again after a lost connection, it gets the seat that it has taken.
  const own = (owns && made) || undefined;
  if (token) ask({ t: "resume", table, token, new_token: own });
  else if (joining) {
    // Kept before they can be needed: the answer may never come.
    if (own && joining.t === "join") localStorage.setItem(`seat ${table}`, own);
    if (joining.t === "sign-up" && !joining.back) localStorage.setItem("evening", ticket);
    ask({ token: own, ...joining });
  }
}

function seated(message) {
  seat = message.seat;
  joining = null;
  localStorage.removeItem(`new ${message.table}`);
  keep(message.table, message.token ?? made ?? token); // which is good for the next game too
  made = link = null;
  part("game").hidden = false;
}

/** Have others see who is online here, as soon as the name is known; if it is taken, that is no matter. */
function enterLobby() {
  const name = seats[seat]?.name;
  if (listed || !name) return;
  listed = true;
  send({ t: "lobby", id: id++, name, tokens: [token], by: "browser" });
}

function cleanAddress() {
  history.replaceState(null, "", location.pathname + location.search);
}

function keep(code, secret) {
  const heading = document.querySelector("h1");
  heading.textContent = texts.table.replace("{code}", code);
  document.title = `${heading.textContent} - Palatinus`;
  table = code;
  token = secret;
  localStorage.setItem(`seat ${code}`, secret);
  localStorage.setItem("recent", JSON.stringify([code, ...recent.filter((each) => each !== code)].slice(0, 6)));
  history.replaceState(null, "", code + location.search);
  part("join").hidden = part("link").hidden = true;
  part("elsewhere").hidden = false;
}

/** Take note that the server knows who this is in the evening. */
function signedUp() {
  if (joining?.new_token) {
    ticket = made;
    localStorage.setItem("evening", ticket);
    localStorage.removeItem(`new ${evening}`);
    made = link = null;
    cleanAddress();
  }
  joining = null;
  if (table !== evening) return;
  part("join").hidden = true;
  part("elsewhere").hidden = false;
}

function forget() {
  localStorage.removeItem(`seat ${table}`);
  localStorage.removeItem(`new ${table}`);
  if (token === link) link = null;
  token = seat = made = null;
  unanswered.clear();
  part("game").hidden = part("elsewhere").hidden = true;
  offer();
}

function leave() {
  localStorage.removeItem(`seat ${table}`);
  location.href = "../";
}

/** Ask whether to take the seat that a link holds, if there is one, or else for a name. */
function offer() {
  part("link").hidden = !link;
  part("join").hidden = Boolean(link);
  if (!link) cleanAddress();
}

/** Go on with the seat, if nothing else has to be known. */
function enter() {
  if (password === undefined && part("join").elements.password) part("join").hidden = false;
  else if (socket?.readyState === WebSocket.OPEN) seek();
  else play();
}

function go(address) {
  // A websocket's address of another server of the cluster, which may be at another computer.
  const there = new URL(address.replace(/^ws/, "http"));
  const safe = there.protocol === location.protocol || there.protocol === "https:";
  const known = there.hostname === location.hostname;
  if (!safe || !(known || confirm(texts.moves.replace("{address}", there.host)))) return;
  there.pathname = `${there.pathname.replace(/\/$/, "")}/play/${table}`;
  there.search = location.search;
  if (token) there.hash = token; // which no browser sends; the page there asks, and replaces it
  location.replace(there);
}

function refused({ id: answered, code, text, about }) {
  const asked = unanswered.get(answered);
  settle(answered);
  if (asked?.back && code !== "table-elsewhere" && code !== "not-stored") { // that was another evening
    if (asked.new_token) {
      joining = made = link = null;
      localStorage.removeItem(`new ${evening}`);
      cleanAddress();
      comeBack();
    } else {
      ticket = null;
      localStorage.removeItem("evening");
    }
    part("join").hidden &&= table !== evening || Boolean(ticket);
    return;
  }
  if (answered === undefined && dismissed.includes(code)) {
    if (code !== "not-signed-up") tell(texts.server, text); // otherwise they had left before
    part("join").hidden &&= table !== evening;
    return;
  }
  joining = null;
  if (seating.includes(asked?.t) && code !== "not-stored") { // which an earlier attempt may have been
    if (asked.t === "join") localStorage.removeItem(`seat ${table}`);
    if (asked.t === "sign-up") {
      localStorage.removeItem("evening");
      ticket = null;
    }
    made = null;
  }
  const useless = asked?.t === "resume" && token === link && !passing.includes(code);
  if (about?.address) go(about.address);
  else if (code === "bad-token" || useless || (answered === undefined && away.includes(code))) forget();
  else if (code === "bad-password" || code === "password-needed") {
    sessionStorage.removeItem("password");
    part("join").hidden = false;
  } else if (seating.includes(asked?.t)) part("join").hidden = false;
  else if (asked?.t === "resume") setTimeout(() => socket.close(), 1000 * (about?.seconds ?? 5));
}

part("join").onsubmit = (event) => {
  event.preventDefault();
  const { name: field, password: typed, players, sound } = event.target.elements;
  if (sound.checked) localStorage.removeItem("silent");
  else localStorage.setItem("silent", "yes");
  const name = field.value.trim().normalize("NFC");
  joining = { t: "join", table, name };
  if (table === evening) joining = { t: "sign-up", name, token: (ticket = newToken()) };
  else if (!token) made ??= newToken();
  if (players) { // for a new table
    const random_layout = event.target.elements.layout.checked;
    const chosen = [...event.target.querySelectorAll(".switch:checked")];
    const switches = Object.fromEntries(chosen.map((box) => [box.name, box.value === "true"]));
    const grows = !players.value; // with a seat for whoever comes
    joining = { t: "open", players: Number(players.value) || 2, grows, name, random_layout, switches };
  }
  localStorage.setItem("name", name);
  if (typed) sessionStorage.setItem("password", (password = typed.value));
  part("join").hidden = true;
  part("refusal").textContent = "";
  enter();
};
const [, takes, declines] = part("link").children;
takes.onclick = () => {
  // Kept until the server has answered: this page may be loaded again before that.
  made = localStorage.getItem(`new ${table}`) ?? newToken();
  localStorage.setItem(`new ${table}`, made);
  if (table === evening) joining = { t: "sign-up", name: "-", token: link, new_token: made, back: true };
  else token = link;
  part("link").hidden = true;
  enter();
};
declines.onclick = () => {
  link = null;
  if (ticket && table === evening) enter();
  else offer();
};
// The server draws the code, of which it has to know the token that it knows anyway.
part("elsewhere").ontoggle = ({ target }) => {
  const place = token && token !== ticket ? [table, token] : [evening, ticket];
  if (target.open) send({ device: place.join("#") });
  else part("device").textContent = "";
};

"use strict";
// A client like any other: it speaks the game's protocol (msgpack, in binary frames) for one seat. It knows no
// rules: what is shown, and what can be done, comes from the server as HTML, in text frames.
const texts = document.body.dataset;
const part = (id) => document.getElementById(id);
const dismissed = ["evening-full", "not-signed-up", "removed-from-evening"]; // from the evening
const away = ["table-closed", "closed-by-server", "removed-by-server", "removed"];
const later = ["not-stored", "server-stopping", "too-many-guesses", "too-many-tables", "too-soon"];
const evening = "EVENING"; // in place of a table's code
const seating = ["join", "open", "sign-up"];
const pledging = ["join", "open", "resume", "rematch"];
const silence = 4000; // milliseconds without an answer after which a line counts as dead ...
const awake = 3000; // milliseconds after a touch in which nobody has to be called
const often = 10000; // ... and between two questions whether it is
let table = texts.play;
let token = null; // is the seat: it goes nowhere but to the server, in a message
let made = null; // a token of this browser's own, which is to hold the seat that is asked for
let link = null; // the token of a seat that somebody has sent, who still knows it
let owns = false; // whether the server takes tokens of this browser's own
let socket = null;
let seat = null;
let seats = [];
let joining = null; // the message that asks for a seat
let password = sessionStorage.getItem("password") ?? undefined;
let id = Math.floor(Math.random() * 2 ** 30);
let again = null; // the attempt to connect that is due
let told = 0; // how many messages have come
let due = null; // when the time for the move is up, if it is limited
const unanswered = new Map();
const pressed = new Map(); // buttons, by the messages that they have sent
const heard = new Set();
let turn = false; // whether it is this player's
let place = null; // the table of the evening where the player is called to
let busy = -Infinity; // when the player touched the page last
let audio = null; // once the page has been touched: before that, no browser lets it ring

let share, pledge; // of this browser in the next draw (docs/fairness.md)
let ticket = localStorage.getItem("evening"); // which is the token of each seat in the evening
let call = null; // what a draw has been settled with, until its game is over

// SHA-256 (FIPS 180-4): browsers have their own only where there is HTTPS.
function hashed(line) {
  const bits = (root) => ((root - Math.floor(root)) * 2 ** 32) | 0;
  const turned = (word, by) => (word >>> by) | (word << (32 - by));
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
  const hash = primes.slice(0, 8).map((prime) => bits(Math.sqrt(prime)));
  const bytes = [...new TextEncoder().encode(line), 128];
  const size = 8 * (bytes.length - 1);
  while (bytes.length % 64 !== 56) bytes.push(0);
  const all = new DataView(new Uint8Array([...bytes, 0, 0, 0, 0, size >>> 24, size >>> 16, size >>> 8, size]).buffer);
  for (let block = 0; block < all.byteLength; block += 64) {
    const words = [];
    let [a, b, c, d, e, f, g, h] = hash;
    for (let at = 0; at < 64; at++) {
      const [near, far] = [words[at - 2], words[at - 15]];
      words[at] = at < 16 ? all.getInt32(block + 4 * at) : words[at - 16] + words[at - 7]
        + (turned(far, 7) ^ turned(far, 18) ^ (far >>> 3)) + (turned(near, 17) ^ turned(near, 19) ^ (near >>> 10)) | 0;
      const one = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g))
        + bits(Math.cbrt(primes[at])) + words[at];
      const two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, at) => { hash[at] = (hash[at] + word) | 0; });
  }
  return hash.map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

function secret() {
  return Array.from(crypto.getRandomValues(new Uint8Array(32)), (each) => each.toString(16).padStart(2, "0")).join("");
}

function newToken() {
  return secret().slice(0, 43);
}

function renew() {
  share = secret();
  pledge = hashed(`palatinus share 1 ${share}`);
}

function drawBegins({ commitment, pledges }) {
  if (pledges[seat] !== pledge) return;
  call = { commitment, share, seat };
  renew(); // each share is shown once
  ask({ t: "share", commitment, share: call.share, pledge });
}

function witness({ t, draws, seed }) {
  if (t === "started" && call && draws?.commitment !== call.commitment) tell(texts.server, texts.commitment);
  else if (t === "started" && call && ![call.share, "missing"].includes(draws.shares[call.seat])) tell(texts.server, texts.share);
  if (t !== "ended" || !call) return;
  if (hashed(`palatinus seed 1 ${seed}`) !== call.commitment) tell(texts.server, texts.seed);
  call = null;
}

function packed(value) {
  if (value === null) return [0xc0];
  if (value === true || value === false) return [value ? 0xc3 : 0xc2];
  if (typeof value === "number") {
    return value < 128 ? [value] : [0xce, value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
  }
  if (typeof value === "string") {
    const bytes = new TextEncoder().encode(value);
    return [0xda, bytes.length >> 8, bytes.length & 255, ...bytes];
  }
  if (Array.isArray(value)) return [0xdc, value.length >> 8, value.length & 255, ...value.flatMap(packed)];
  const pairs = Object.entries(value).filter(([, each]) => each !== undefined);
  return [0xde, pairs.length >> 8, pairs.length & 255, ...pairs.flat().flatMap(packed)];
}

function unpacked(buffer) {
  const bytes = new DataView(buffer);
  let at = 0;
  const take = (length, read) => {
    at += length;
    return read.call(bytes, at - length);
  };
  const size = (power) => take(2 ** power, [bytes.getUint8, bytes.getUint16, bytes.getUint32][power]);
  const text = (length) => new TextDecoder().decode(new Uint8Array(buffer, (at += length) - length, length));
  const array = (length) => Array.from({ length }, value);
  const map = (length) => Object.fromEntries(Array.from({ length }, () => [value(), value()]));
  function value() {
    const kind = take(1, bytes.getUint8);
    if (kind < 0x80) return kind;
    if (kind < 0x90) return map(kind & 15);
    if (kind < 0xa0) return array(kind & 15);
    if (kind < 0xc0) return text(kind & 31);
    if (kind >= 0xe0) return kind - 256;
    if (kind === 0xc0) return null;
    if (kind === 0xc2 || kind === 0xc3) return kind === 0xc3;
    if (kind === 0xcb) return take(8, bytes.getFloat64);
    if (kind >= 0xcc && kind <= 0xce) return size(kind - 0xcc);
    if (kind === 0xcf) return Number(take(8, bytes.getBigUint64));
    if (kind === 0xd0) return take(1, bytes.getInt8);
    if (kind === 0xd1) return take(2, bytes.getInt16);
    if (kind === 0xd2) return take(4, bytes.getInt32);
    if (kind === 0xd3) return Number(take(8, bytes.getBigInt64));
    if (kind >= 0xd9 && kind <= 0xdb) return text(size(kind - 0xd9));
    if (kind === 0xdc || kind === 0xdd) return array(size(kind - 0xdb));
    if (kind === 0xde || kind === 0xdf) return map(size(kind - 0xdd));
    throw new Error(`no value begins with ${kind}`);
  }
  return value();
}

function send(message) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(new Uint8Array(packed(message)));
}

function ask(message) {
  message.id = id++;
  if (pledging.includes(message.t)) message.pledge = pledge;
  unanswered.set(message.id, message);
  part("refusal").textContent = "";
  send(message);
}

/** Take note of an answer; the button that asked can be pressed again. */
function settle(number) {
  unanswered.delete(number);
  if (pressed.has(number)) pressed.get(number).disabled = false;
  pressed.delete(number);
}

function seek() {
  // Sent again after a lost connection, it gets the seat that it has taken.
  const own = (owns && made) || undefined;
  if (token) ask({ t: "resume", table, token, new_token: own });
  else if (joining) {
    // Kept before they can be needed: the answer may never come.
    if (own && joining.t === "join") localStorage.setItem(`seat ${table}`, own);
    if (joining.t === "sign-up") localStorage.setItem("evening", ticket);
    ask({ token: own, ...joining });
  }
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
  history.replaceState(null, "", code + location.search);
  part("join").hidden = part("link").hidden = true;
}

function forget() {
  localStorage.removeItem(`seat ${table}`);
  localStorage.removeItem(`new ${table}`);
  if (token === link) link = null;
  token = seat = made = null;
  unanswered.clear();
  part("game").hidden = true;
  offer();
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

function tell(who, text) {
  const line = document.createElement("li");
  const name = document.createElement("b");
  name.textContent = who;
  line.append(name, " ", text);
  part("said").append(line);
  part("said").scrollTop = part("said").scrollHeight; // and never the page, under somebody's finger
}

/** Call the player, who may not look: for a moment the whole screen is in the player's own colour. */
function summon(words) {
  if (performance.now() - busy < awake) return;
  const banner = part("called");
  banner.textContent = words;
  banner.hidden = false;
  setTimeout(() => { banner.hidden = true; }, 1500);
  if (navigator.vibrate && navigator.userActivation?.hasBeenActive !== false) navigator.vibrate([200, 100, 200]);
  if (!audio || localStorage.getItem("silent")) return;
  for (const [at, pitch] of [660, 880].entries()) {
    const tone = audio.createOscillator(), volume = audio.createGain(), begins = audio.currentTime + 0.2 * at;
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0.2, begins);
    volume.gain.exponentialRampToValueAtTime(0.001, begins + 0.4);
    tone.connect(volume).connect(audio.destination);
    tone.start(begins);
    tone.stop(begins + 0.4);
  }
}

function hear({ number, seat: from, spectator, text, name, missed }) {
  if (number && heard.has(number)) return;
  heard.add(number);
  const who = name ?? seats[from]?.name ?? `${texts.spectator} ${spectator ?? ""}`;
  tell(missed ? texts.missed.replace("{news}", () => who) : who, text);
}

function refused({ id: answered, code, text, about }) {
  const asked = unanswered.get(answered);
  settle(answered);
  if (asked?.back && code !== "table-elsewhere" && code !== "not-stored") { // that was another evening
    ticket = null;
    localStorage.removeItem("evening");
    part("join").hidden &&= table !== evening;
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
  const useless = asked?.t === "resume" && token === link && !later.includes(code);
  if (about?.address) go(about.address);
  else if (code === "bad-token" || useless || (answered === undefined && away.includes(code))) forget();
  else if (code === "bad-password" || code === "password-needed") {
    sessionStorage.removeItem("password");
    part("join").hidden = false;
  } else if (seating.includes(asked?.t)) part("join").hidden = false;
  else if (asked?.t === "resume") setTimeout(() => socket.close(), 1000 * (about?.seconds ?? 5));
}

function take(message) {
  switch (message.t) {
    case "welcome":
      owns = message.own_tokens;
      seek();
      if (ticket && message.evening && joining?.t !== "sign-up") {
        ask({ t: "sign-up", name: localStorage.getItem("name") || "-", token: ticket, back: true });
      }
      break;
    case "seated":
      settle(message.id);
      seat = message.seat;
      joining = null;
      localStorage.removeItem(`new ${message.table}`);
      keep(message.table, message.token ?? made ?? token); // which is good for the next game too
      made = link = null;
      part("game").hidden = false;
      for (const each of unanswered.values()) send(each);
      break;
    case "signed-up":
      settle(message.id);
      joining = null;
      part("join").hidden ||= table === evening;
      break;
    case "reseated":
      seat = message.seat;
      break;
    case "table":
      seats = message.seats;
      if (message.paused) due = null;
      break;
    case "draw":
      drawBegins(message);
      break;
    case "events":
    case "snapshot":
      message.events?.forEach(witness);
      document.title = document.title.replace(/^\* /, "");
      if (message.legal) document.title = `* ${document.title}`;
      if (message.legal && !turn) summon(texts.turn);
      turn = Boolean(message.legal);
      due = message.clock === undefined || seats[message.turn]?.holiday_until ? null : performance.now() + message.clock;
      settle(message.id);
      break;
    case "done":
      if (unanswered.get(message.id)?.t === "leave") location.href = "../";
      settle(message.id);
      break;
    case "refused":
      refused(message);
      break;
    case "said":
      hear(message);
      break;
    case "said-before":
      message.remarks.forEach(hear);
      break;
    case "announced":
      tell(texts.server, message.text);
      break;
    case "moved":
      go(message.address);
  }
}

function play() {
  clearTimeout(again);
  const address = new URL(table, location.href);
  address.searchParams.set("lang", document.documentElement.lang);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  socket = new WebSocket(address);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => send({ t: "hello", versions: [1], client: "browser/1", password });
  socket.onmessage = ({ data }) => {
    pause = 500;
    told++;
    become("here");
    if (typeof data === "string") {
      show(JSON.parse(data));
      part("called").className = document.querySelector("#hand .people")?.className ?? "";
      const goes = part("call").querySelector("[data-go]");
      if (goes && goes.dataset.go !== place) summon(goes.textContent);
      place = goes && goes.dataset.go;
    } else take(unpacked(data));
  };
  socket.onclose = closed;
  expect(socket, 2 * silence);
}

function closed({ code }) {
  for (const [number, { t }] of unanswered) if (t === "resume" || seating.includes(t)) unanswered.delete(number);
  if (code === 4000) part("refusal").textContent = texts.taken;
  if ([1003, 1008, 1009, 4000].includes(code) || !(token || joining || ticket)) return;
  become("gone");
  again = setTimeout(play, pause * (1 + Math.random()));
  pause = Math.min(2 * pause, longest);
}

/** Try another line unless something comes on this one in time: a dead one says nothing of its end. */
function expect(asked, within) {
  const then = told;
  setTimeout(() => {
    if (socket !== asked || told !== then || asked.readyState > WebSocket.OPEN) return;
    asked.onclose = asked.onmessage = null;
    asked.close();
    closed({ code: 1006 });
    if (line === "gone") play();
  }, within);
}

/** Find out whether the line is dead, or do not wait for the next attempt. */
function check() {
  if (!socket || document.hidden || !(token || joining || ticket)) return;
  if (socket.readyState === WebSocket.CLOSED && line === "gone") play();
  else if (socket.readyState === WebSocket.OPEN) {
    send({ t: "ping", id: id++ });
    expect(socket, silence);
  }
}

setInterval(() => {
  const left = due === null ? null : Math.max(0, Math.round((due - performance.now()) / 1000));
  part("clock").textContent = left === null ? "" : duration(left);
}, 500);

/** Show at once what has been chosen; the server's answer replaces it. */
function mark(chosen) {
  for (const each of document.querySelectorAll(".tapped")) each.classList.remove("tapped");
  if (chosen.classList.contains("touch")) chosen.classList.add("tapped");
  if (!part("hand").contains(chosen)) return;
  for (const each of part("hand").children) each.setAttribute("aria-pressed", String(each === chosen));
}

document.onclick = ({ target }) => {
  audio ??= new AudioContext();
  busy = performance.now();
  const touched = target.closest("[data-choose], [data-do], [data-go]");
  const code = touched?.dataset.go;
  if (code) {
    localStorage.setItem(`seat ${code}`, ticket);
    location.href = code + location.search;
    return;
  }
  if (touched?.dataset.do) {
    const message = JSON.parse(touched.dataset.do);
    const typed = touched.previousElementSibling;
    if (typed?.tagName === "INPUT") {
      if (!typed.reportValidity()) return;
      message[typed.name] = typed.type === "datetime-local" ? Math.max(0, Date.parse(typed.value) / 1000) : typed.value.trim();
    }
    ask(message);
    touched.disabled = true;
    pressed.set(message.id, touched);
  } else if (touched && socket?.readyState === WebSocket.OPEN) {
    mark(touched);
    socket.send(touched.dataset.choose);
  }
};
document.onkeydown = ({ key, target }) => {
  if (key === "Escape") for (const each of document.querySelectorAll(".sheet")) each.open = false;
  if ((key === "Enter" || key === " ") && target.classList.contains("touch")) {
    target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  }
};
// A phone that was in a pocket may have lost its line without knowing.
document.onvisibilitychange = window.ononline = window.onoffline = check;
setInterval(check, often);
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
    joining = { t: "open", players: Number(players.value), name, random_layout, switches };
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
  token = link;
  part("link").hidden = true;
  enter();
};
declines.onclick = () => {
  link = null;
  offer();
};
part("say").onsubmit = (event) => {
  event.preventDefault();
  const words = part("words-said");
  const text = words.value.trim().normalize("NFC");
  if (text) ask({ t: "say", text });
  words.value = "";
};

renew();
if (table && table !== evening) {
  token = localStorage.getItem(`seat ${table}`);
  link = /^#([\w-]{1,43})$/.exec(location.hash)?.[1] ?? null;
} else localStorage.removeItem(`seat ${table}`); // there is none; a link may have left one
if (!link) cleanAddress();
part("join").elements.sound.checked = !localStorage.getItem("silent");
part("join").elements.name.value = localStorage.getItem("name") ?? "";
// A seat that this browser has already cannot be replaced by a link that somebody sends.
if (token) keep(table, token);
if (token || (ticket && table === evening)) enter();
else offer();

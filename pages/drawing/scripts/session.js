"use strict";
// A client like any other: it speaks the game's protocol for one seat, as JSON. It knows no rules: what is shown,
// and what can be done, comes from the server as HTML.
const texts = document.body.dataset;
const part = (id) => document.getElementById(id);
const silence = 4000; // milliseconds without an answer after which a line counts as dead ...
const often = 10000; // ... and between two questions whether it is
const seating = ["join", "open", "sign-up"];
const pledging = ["join", "open", "resume", "rematch"];
let socket = null;
let password = sessionStorage.getItem("password") ?? undefined;
let id = Math.floor(Math.random() * 2 ** 30);
let again = null; // the attempt to connect that is due
let told = 0; // how many messages have come
const unanswered = new Map();
const pressed = new Map(); // buttons, by the messages that they have sent

function send(message) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
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

function play() {
  clearTimeout(again);
  socket = new WebSocket(lineTo(table));
  socket.onopen = () => send({ t: "hello", versions: [1], client: "browser/1", password });
  socket.onmessage = ({ data }) => {
    pause = 500;
    told++;
    become("here");
    const message = JSON.parse(data);
    if ("t" in message) take(message);
    else look(message);
  };
  socket.onclose = closed;
  expect(socket, 2 * silence);
}

function look({ moved, told: news, ...parts }) {
  if (moved) location.replace(moved + location.search); // where those watch who come too late
  if (news) tell(texts.server, news);
  show(parts);
  refocus();
  listen();
}

function closed({ code }) {
  for (const [number, { t }] of unanswered) if (t === "resume" || seating.includes(t)) unanswered.delete(number);
  if (code === 4000) part("refusal").textContent = texts.taken;
  if ([1003, 1008, 1009, 4000].includes(code) || !(token || joining || ticket)) return;
  again = later(play);
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

function take(message) {
  switch (message.t) {
    case "welcome":
      welcomed(message);
      break;
    case "seated":
      settle(message.id);
      seated(message);
      for (const each of unanswered.values()) send(each);
      break;
    case "signed-up":
      settle(message.id);
      signedUp();
      break;
    case "reseated":
      seat = message.seat;
      break;
    case "table":
      noteAgain(message.seats);
      seats = message.seats;
      enterLobby();
      waits = message.stage === "gathering" && !message.switches?.private;
      showWhoHears();
      if (message.paused) due = null;
      break;
    case "draw":
      drawBegins(message);
      break;
    case "events":
    case "snapshot":
      message.events?.forEach(witness);
      noteTurn(message);
      settle(message.id);
      break;
    case "done":
      if (unanswered.get(message.id)?.t === "leave") leave();
      settle(message.id);
      break;
    case "refused":
      refused(message);
      break;
    case "said":
      hear(message);
      showSign(message);
      break;
    case "said-before":
      message.remarks.forEach(hear);
      break;
    case "lobby-said":
      message.remarks.forEach(overhear);
      break;
    case "online":
      noteLobby(message.people);
      showWhoHears();
      break;
    case "moved":
      go(message.address);
  }
}

// A phone that was in a pocket may have lost its line without knowing.
document.onvisibilitychange = window.ononline = window.onoffline = check;
setInterval(check, often);

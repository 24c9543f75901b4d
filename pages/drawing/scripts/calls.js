"use strict";
// How players who may not look are called to their turn, or to their next table; and their clock.
const awake = 3000; // milliseconds after a touch in which nobody has to be called
let turn = false; // whether it is this player's
let place = null; // the table of the evening where the player is called to
let busy = -Infinity; // when the player touched the page last
let audio = null; // once the page has been touched: before that, no browser lets it ring
let known = null; // the names of those who have been in the lobby
const party = 10; // people in the lobby: of more, nobody is announced
let due = null; // when the time for the move is up, if it is limited

/** Call the player: for a moment the whole screen is in the player's own colour. */
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

/** Take note of news of the game: whose turn it is, and until when. */
function noteTurn(message) {
  document.title = document.title.replace(/^\* /, "");
  if (message.legal) document.title = `* ${document.title}`;
  if (message.legal && !turn) summon(texts.turn);
  turn = Boolean(message.legal);
  due = message.clock === undefined || seats[message.turn]?.holiday_until ? null : performance.now() + message.clock;
}

/** Call the player, who waits for others, when somebody has come to the lobby; in an evening, nobody is free. */
function noteLobby(people) {
  const names = people.filter(({ at = "lobby" }) => at === "lobby").map(({ name }) => name);
  const came = names.find((name) => known && !known.has(name));
  if (came && names.length <= party && token !== ticket) summon(texts.came.replace("{name}", () => came));
  known = new Set([...(known ?? []), ...names]);
}

/** Call the player, who looks at the scoring still, when another one wants to play again. */
function noteAgain(now) {
  const wants = now.find((each, at) => each.again && seats[at]?.again === undefined && seats[at]?.name === each.name);
  if (wants && now.indexOf(wants) !== seat) summon(texts.again.replace("{name}", () => wants.name));
}

/** Call the player to the table to which the page leads now, and did not before. */
function listen() {
  part("called").className = document.querySelector("#hand .people")?.className ?? "";
  const goes = part("call").querySelector("[data-go]");
  if (goes && goes.dataset.go !== place) summon(goes.textContent);
  place = goes && goes.dataset.go;
}

setInterval(() => {
  const left = due === null ? null : Math.max(0, Math.round((due - performance.now()) / 1000));
  part("clock").textContent = left === null ? "" : duration(left);
}, 500);

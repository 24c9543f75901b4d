"use strict";
// What this browser gives to the draws at its table, and how it checks them (docs/fairness.md).
let share, pledge; // in the next draw
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

renew();

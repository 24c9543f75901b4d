// A bot for Palatinus in JavaScript, for Node.
//
//     npm install
//     node bot.js ws://127.0.0.1:7733          # opens a table for two, and prints its code
//     node bot.js ws://127.0.0.1:7733 KRTV     # joins that table
//
// It plays one game, prints the result and ends. docs/protocol.md describes the messages. To make it a
// better player, change `choose`.

import { randomBytes } from "node:crypto";
import { realpathSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { decode, encode } from "@msgpack/msgpack";
import WebSocket from "ws";

const WORTH = { Palatinus: 6, Capitolinus: 5, Quirinalis: 5, Esquilinus: 4, Aventinus: 4 }; // others: 3
const FIELDS = [..."ABCDEFG"].flatMap((tile) => [1, 2, 3, 4, 5, 6].map((number) => `${tile}${number}`));
const SPRINGS = new Set("A1 A2 B1 B3 C1 C4 D2 D3 E2 E5 F3 F5 G4 G6".split(" "));
// Axial coordinates: of the hills by position, and the steps to the hexes beside one.
const HILLS = [[0, 0], [2, 1], [-1, 3], [-3, 2], [-2, -1], [1, -3], [3, -2]];
const STEPS = [[1, 0], [0, 1], [-1, 1], [-1, 0], [0, -1], [1, -1]];

const FIRST_PAUSE = 250; // milliseconds between attempts to come back
const LONGEST_PAUSE = 15_000;
const TRIES = 40;
const ANSWER_MS = 30_000;
const FOR_GOOD = new Set([1003, 1008, 1009, 4000]); // close codes after which there is no use in coming back
// Refusals of a move or a start that need no answer: the server's next message says how things are.
const OVERTAKEN = new Set(
  ["paused", "time-up", "not-your-turn", "game-over", "left-the-table"].concat(
    ["seats-empty", "seat-kept", "already-started", "not-the-host"],
  ),
);
// With these, what was asked may be asked again.
const LATER = new Set(["too-soon", "too-many-tables", "too-many-guesses", "server-stopping", "not-stored"]);
const MOST_SERVERS = 10; // that are kept in mind
const NAMES = 20; // how many names are tried

/** The bot cannot go on; the message says why. */
class GiveUp extends Error {}

/** The table is at another server of the same cluster, at this address. */
class SentOn extends Error {}

/** The connection is lost; `code` is the close code, if the server gave one. */
class Lost extends Error {
  constructor(code, reason) {
    super(reason);
    this.code = code;
  }
}

const oneOf = (list) => list[Math.floor(Math.random() * list.length)];

/** What the bot knows of its game: enough for `choose`, and to come back to it. */
class Game {
  table = null;
  token = null;
  ownToken = randomBytes(32).toString("base64url"); // for the seat: the server knows by it what it has given
  seat = null;
  state = {}; // the latest message `table`
  seq = 0; // the number of the latest event
  legal = null; // what may be done now
  tiles = Array(7).fill(null); // and their orientations, by position
  laurels = {}; // by tile
  board = new Map(); // by field: the seat, and the piece as far as it is known
  result = null;

  takeSnapshot(message) {
    this.seq = message.seq;
    this.legal = message.legal ?? null;
    this.tiles = message.tiles;
    this.laurels = message.laurels;
    this.board = new Map(message.placed.map(([seat, piece, field]) => [field, [seat, piece]]));
    for (const event of message.scoring ?? []) this.takeEvent(event);
  }

  /** Take in what is new; return false if something is missing between that and what is known. */
  takeEvents(message) {
    if (message.seq > this.seq + 1) return false;
    for (const event of message.events.slice(this.seq + 1 - message.seq)) this.takeEvent(event);
    this.seq = Math.max(this.seq, message.seq + message.events.length - 1);
    this.legal = message.legal ?? null;
    return true;
  }

  takeEvent(event) {
    switch (event.t) {
      case "centre":
        this.tiles = [[event.tile, 0], ...Array(6).fill(null)];
        break;
      case "laid":
        this.tiles[event.position] = [event.tile, event.orientation];
        break;
      case "layout":
        this.tiles = event.tiles.map((laid) => [laid.tile, laid.orientation]);
        break;
      case "laurels":
        this.laurels = event.laurels;
        break;
      case "placed":
        this.board.set(event.field, [event.seat, event.piece]);
        break;
      case "wolf":
        this.board.set(event.field, [event.seat, `${event.people}*`]);
        break;
      case "ended":
        this.result = event;
        break;
      default: // this bot needs no more, and later versions may have events that nobody knows yet
    }
  }
}

/** Return which fields are adjacent to each one. */
function fieldsBeside(tiles) {
  const fields = new Map();
  tiles.forEach((laid, position) => {
    for (let number = 0; laid && number < 6; number++) {
      const [[q, r], [dq, dr]] = [HILLS[position], STEPS[(laid[1] + number) % 6]];
      fields.set(`${q + dq},${r + dr}`, `${laid[0]}${number + 1}`);
    }
  });
  const beside = ([q, r]) => STEPS.map(([dq, dr]) => fields.get(`${q + dq},${r + dr}`)).filter(Boolean);
  return new Map([...fields].map(([hex, field]) => [field, beside(hex.split(",").map(Number))]));
}

/** Return a legal move: farmers at springs, merchants in company, rather on hills that are worth much. */
function choose(game, legal) {
  if (legal.t === "lay") {
    return { t: "lay", position: oneOf(legal.positions), orientation: oneOf(legal.orientations) };
  }
  // Not with `&`, which in JavaScript knows only 32 bits: there are 42 fields.
  const free = FIELDS.filter((_, number) => Math.floor(legal.fields / 2 ** number) % 2 === 1);
  const beside = fieldsBeside(game.tiles);
  const promise = (piece, field) => {
    const taken = beside.get(field).filter((each) => game.board.has(each)).length;
    const empty = beside.get(field).length - taken;
    const springs = [field, ...beside.get(field)].filter((each) => SPRINGS.has(each)).length;
    // A soldier has no influence: it is placed when nothing else may be.
    const influence = { f: 2 * springs + empty, m: 2 * taken + empty, s: 0 }[piece[1]];
    // Of two pieces that promise the same a wolf is better, and then any of them.
    return influence * (WORTH[game.laurels[field[0]]] ?? 3) + (piece.endsWith("*") ? 0.5 : 0) + Math.random() / 2;
  };
  const moves = legal.pieces.flatMap((piece) => free.map((field) => [promise(piece, field), piece, field]));
  const [, piece, field] = moves.reduce((best, move) => (move[0] > best[0] ? move : best));
  return { t: "place", piece, field };
}

/** A connection: messages in, one after another, and out. */
class Line {
  #arrived = [];
  #waiting = null;
  #lost = null;

  constructor(url) {
    // The server's frames have at most 256 KiB.
    const options = { perMessageDeflate: false, maxPayload: 2 ** 18, handshakeTimeout: 10_000 };
    this.socket = new WebSocket(url, options);
    this.opened = new Promise((resolve) => this.socket.once("open", resolve));
    this.socket.on("message", (frame) => {
      this.#arrived.push(decode(frame));
      this.#wake();
    });
    this.socket.on("error", (error) => this.#lose(new Lost(null, error.message)));
    this.socket.on("close", (code, reason) => this.#lose(new Lost(code, reason.toString())));
  }

  #wake() {
    this.#waiting?.();
    this.#waiting = null;
  }

  #lose(lost) {
    this.#lost ??= lost;
    this.#wake();
  }

  /** Wait until the connection stands; throws Lost. */
  async open() {
    await Promise.race([this.opened, this.#news()]);
    if (this.#lost) throw this.#lost;
  }

  #news() {
    return new Promise((resolve) => (this.#waiting = resolve));
  }

  send(message) {
    this.socket.send(encode(message), () => {}); // an error closes the connection, which `receive` reports
  }

  /** Return the next message; throws Lost, also if none arrives in time. */
  async receive(milliseconds = null) {
    const over = milliseconds === null ? null : setTimeout(() => this.socket.terminate(), milliseconds);
    try {
      while (this.#arrived.length === 0) {
        if (this.#lost) throw this.#lost;
        await this.#news();
      }
      return this.#arrived.shift();
    } finally {
      clearTimeout(over);
    }
  }

  close() {
    this.socket.close();
  }
}

/** One seat at one table, over as many connections as it takes. */
class Bot {
  game = new Game();
  nextId = Math.floor(Math.random() * 2 ** 30);

  constructor(server, table, options) {
    Object.assign(this, { server, table, options });
    this.servers = [server]; // of one cluster; the bot is at the first one, or tries it
  }

  /** Play the game to its end; throws GiveUp. */
  async play() {
    let [pause, tries, beenThere, sentOn] = [FIRST_PAUSE, 0, false, false];
    for (;;) {
      const wasSentOn = sentOn;
      let seated = (sentOn = false);
      this.line = this.connect();
      try {
        await this.line.open();
        await this.greet();
        beenThere = true;
        await this.takeSeat();
        [pause, tries, seated] = [FIRST_PAUSE, 0, true];
        await this.playOn();
        await this.ask({ t: "leave" });
        return;
      } catch (error) {
        if (error instanceof SentOn) {
          this.servers = [...new Set([error.message, ...this.servers])];
          sentOn = !wasSentOn;
          if (sentOn) continue; // otherwise with a pause: servers may send bots in circles
        } else {
          if (!(error instanceof Lost)) throw error;
          if (FOR_GOOD.has(error.code)) throw new GiveUp(`the server closed the connection: ${error.message}`);
          if (!beenThere) throw new GiveUp(`cannot connect to ${this.server}: ${error.message}`);
          if (!seated) this.servers.push(this.servers.shift()); // another one may know more
        }
      } finally {
        this.line.close();
      }
      tries += 1;
      if (tries === TRIES) throw new GiveUp("the server has not come back");
      await sleep(pause * (0.5 + Math.random() / 2)); // so that not all clients come at once
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    }
  }

  connect() {
    try {
      return new Line(this.servers[0]);
    } catch (error) {
      throw new GiveUp(`${this.servers[0]} is not an address: ${error.message}`);
    }
  }

  // -- messages -----------------------------------------------------------------------------------

  /** Return the next message, after the game has taken it in. */
  async receive(milliseconds = null) {
    const message = await this.line.receive(milliseconds);
    switch (message.t) {
      case "seated":
        Object.assign(this.game, { table: message.table, seat: message.seat });
        this.game.token = message.token ?? this.game.token ?? this.game.ownToken;
        break;
      case "reseated":
        this.game.seat = message.seat;
        break;
      case "table":
        this.game.state = message;
        break;
      case "snapshot":
        this.game.takeSnapshot(message);
        break;
      case "events":
        if (!this.game.takeEvents(message)) {
          this.line.send({ t: "sync", id: this.nextId++, after: this.game.seq });
        }
        break;
      case "moved":
        this.follow(message);
        break;
      case "refused": // without an id: the table was closed, or the bot was removed from it
        if (message.about?.address) this.follow(message.about);
        if (message.id === undefined && message.code !== "bad-message") throw new GiveUp(message.text);
        break;
      default: // `said`, `announced`, `stopping`, `draw`, and whatever servers will send one day
    }
    return message;
  }

  /** Throw SentOn, unless that would give the seat's token away without encryption. */
  follow({ address }) {
    if (this.mayGoTo(address)) throw new SentOn(address);
  }

  mayGoTo(address) {
    return address.startsWith("wss://") || !this.server.startsWith("wss://");
  }

  /** Send a request and return its answer; a wish that can be granted later is asked again. */
  async ask(message) {
    for (;;) {
      const request = { ...message, id: this.nextId++ };
      this.line.send(request);
      let answer = await this.receive(ANSWER_MS);
      while (answer.id !== request.id) answer = await this.receive(ANSWER_MS);
      if (answer.t !== "refused" || !LATER.has(answer.code)) return answer;
      console.error(answer.text);
      await sleep(Number(answer.about?.seconds ?? 1) * 1000 + 100);
    }
  }

  // -- the course of a game -------------------------------------------------------------------------

  async greet() {
    const { password } = this.options;
    const hello = { t: "hello", versions: [1], client: "example-bot/1" };
    this.line.send(password === undefined ? hello : { ...hello, password });
    let welcome = await this.receive(ANSWER_MS);
    while (welcome.t !== "welcome") welcome = await this.receive(ANSWER_MS);
    this.takesTokens = welcome.own_tokens; // made by clients
    const others = (welcome.addresses ?? []).filter((address) => this.mayGoTo(address));
    const known = new Set([this.servers[0], this.server, ...others, ...this.servers]);
    this.servers = [...known].slice(0, MOST_SERVERS);
  }

  /** Come back to the seat, or take one; with a name that is taken, the next one is tried. */
  async takeSeat() {
    const { game, options } = this;
    if (game.token) {
      // With `after` 0, the server says how the game stands, so nothing has to be kept.
      const answer = await this.ask({ t: "resume", table: game.table, token: game.token, after: 0 });
      if (answer.t === "refused") throw new GiveUp(answer.text);
      return;
    }
    for (let number = 1; number <= NAMES; number++) {
      const name = number === 1 ? options.name : `${options.name.slice(0, 17)}-${number}`;
      const request = this.table
        ? { t: "join", table: this.table, name, program: true }
        : { t: "open", players: Number(options.players), name, program: true };
      if (this.takesTokens) request.token = game.ownToken;
      const answer = await this.ask(request);
      if (answer.t === "seated") {
        console.log(`Table ${game.table}, seat ${game.seat + 1}, as ${name}`);
        return;
      }
      if (answer.code !== "name-taken") throw new GiveUp(answer.text);
    }
    throw new GiveUp(`all names like ${options.name} are taken`);
  }

  /** Start the game if that is for this seat to do, and make its moves, until the game is over. */
  async playOn() {
    const { game } = this;
    while (!game.result && !game.state.ended) {
      if (this.mayStart()) {
        game.state = {}; // the next one says whether it is to be tried again
        this.check(await this.ask({ t: "start" }));
      } else if (game.legal && !game.state.paused) {
        const legal = game.legal;
        game.legal = null; // the server sends it again if the move was not made
        this.check(await this.ask(choose(game, legal)));
      } else {
        await this.receive();
      }
    }
    if (!game.result) {
      console.log("The host has ended the game.");
      return;
    }
    const points = game.result.tallies.map((tally) => tally.points);
    const won = game.result.winners.includes(game.seat);
    console.log(`Points by seat: ${points.join(", ")}. ${won ? "Won" : "Lost"}.`);
  }

  mayStart() {
    const { stage, host, seats } = this.game.state;
    return stage === "gathering" && host === this.game.seat && seats.every((seat) => seat.name && !seat.kept);
  }

  /** Throw GiveUp if a move or the start was refused for a reason that will not go away. */
  check(answer) {
    if (answer.t === "refused" && !OVERTAKEN.has(answer.code)) {
      throw new GiveUp(`${answer.code}: ${answer.text}`);
    }
  }
}

const USAGE = "usage: node bot.js ws://HOST:PORT [TABLE] [--name NAME] [--players N] [--password PASSWORD]";

async function main() {
  let given;
  try {
    given = parseArgs({
      allowPositionals: true,
      options: {
        name: { type: "string", default: "Example" },
        players: { type: "string", default: "2" },
        password: { type: "string" },
      },
    });
  } catch (error) {
    console.error(`${error.message}\n${USAGE}`);
    return 2;
  }
  const [server, table, ...more] = given.positionals;
  if (!server || more.length) {
    console.error(USAGE);
    return 2;
  }
  try {
    await new Bot(server, table, given.values).play();
  } catch (error) {
    if (!(error instanceof GiveUp)) throw error;
    console.error(error.message);
    return 1;
  }
  return 0;
}

// Another module may import these, to test `choose` on a position.
export { FIELDS, Game, choose };

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  process.exitCode = await main();
}

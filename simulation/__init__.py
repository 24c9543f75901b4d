"""The server, its disk, its network and everybody who plays there, in one Python process, from one seed.

- `loop` has the clock and the processes: an event loop for each, which can be killed and paused. `network`
  has listening sockets and streams in memory, between hosts that can be parted. `disk` is between SQLite and
  the system. `machine` is the one place where time, chance, sockets and files of the real system are
  replaced. `trace` takes notes of all that happens.
- `database` is the PostgreSQL that nodes share, with its connections and clock; `rows` has its transactions
  and locks, `statements` what each statement of the product does to them.
- `plan` draws from a seed what happens, `disturbing` brings it about, and `server` is what it happens to: a
  server at a host of its own, so that several may stand in one world.
- `people` play, `wiretap` takes down what they are sent, and `judging` compares it with the journal. `broken`
  has servers that are broken on purpose, to prove that they notice.
- `world` puts all of them together. `running` has each world in a
  process of its own, and leaves out of a failing one what the failure does not need.
- `real` plays with real processes, to see that all of this is true to life.

Needs Linux: processes that fork, and files in /dev/shm.
"""

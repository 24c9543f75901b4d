"""The server, its disk, its network and everybody who plays there, in one Python process, from one seed.

- `loop` has the clock and the processes: an event loop for each, which can be killed and paused. `network`
  has listening sockets and streams in memory, with hosts that can be parted. `machine` is the one place where
  time, chance and sockets of the real system are replaced. `trace` takes notes of all that happens.
- Several servers may stand in one world: each is a `Process` at a host of its own.
"""

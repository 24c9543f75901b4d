"""The server, its disk, its network and everybody who plays there, in one Python process, from one seed.

- `plan` draws from a seed what happens, `disturbing` brings it about, and `server` is what it happens to: a
  server at a host of its own, so that several may stand in one world.
- `world` puts all parts together, and `week` has correspondence games. `running` has each world in a process
  of its own, and leaves out of a failing one what the failure does not need.
- `trace` has all that happens; `report` shows what came before a failure, and `circles` what does not end.
- `machine/` has the clock, the processes, the network and the disk, and replaces those of the real system.
- `database/` is the PostgreSQL that nodes share.
- `people/` play. `wiretap` takes down what they are sent, and `judging/` compares it with the journal.
- `broken` proves that this notices what is wrong: broken.txt has servers that are broken on purpose.
- `real` plays with real processes, to see that all of this is true to life. `failing_calls/` has each system
  call of the journal fail once, and `lease/` has a model of the lease.

Needs Linux: processes that fork, and files in /dev/shm.
"""

/* The lease of one table between two nodes and a database that can fail (docs/architecture.md), for the model checker Spin.

    simulation/lease/check_lease.sh

explores every state, and shows that each mistake that the model can be given is found. A move is stored by one
transaction that proves its term. A node may stop between any two steps, for any time; a request may reach the
database late or never, and its answer may be lost. Time passes in ticks, of which a lease has LEASE.

The model can be broken on purpose, by -D with one of these:
    NO_FENCE       a commit does not prove that its node still owns the table
    NO_KEY         a move is stored behind others, though its place is taken
    REFUSE_DOUBT   a refusal is told although an earlier attempt may still arrive
    SLOW_CLOCK     a node counts its lease from the answer, not from before the request
    STALE_STANDBY  the database fails over to a standby that lacks a commit (not promised to be survived),
    FAST_STANDBY   or to one whose clock is ahead by a lease (nor is this)
*/
#define LEASE  2
#define NODES  2
#define TERMS  3   /* leases that begin; a term is never given twice, and 0 is none */
#define MOVES  2   /* moves that players make */
#ifndef FAULTS
#define FAULTS 2   /* deaths, lost connections, restarts and fail-overs */
#endif

/* The database. */
byte owner, last_term;      /* the term that the table names; the newest term */
bool alive[TERMS + 1];      /* there is a row for the lease with this term */
byte left[TERMS + 1];       /* ticks until it runs out, by the database's clock */
byte length, stored[MOVES]; /* the moves stored, numbered from 1 */
byte grace;                 /* ticks in which no lease is ended, because the database was away */

/* What players were told, and what has happened. */
bool said_refused[MOVES + 1];
byte moves, faults;

mtype = { nothing, sent, done, refused, denied, unknown };

typedef Request { byte move, term, place };

typedef Node {
    byte term, valid;       /* its lease, and the ticks for which it may speak, by its own clock */
    mtype renewal = nothing;
    byte counted;           /* what the renewal under way will be worth: counted from before it was sent */
    bool has; byte knows;   /* whether it has the table in memory, and how many moves of it */
    mtype storing = nothing;
    Request now;            /* the move being stored */
    bool doubt;             /* whether it was sent before on a connection that was lost */
    Request late;           /* one whose connection was lost, which the database may still carry out */
};
Node node[NODES];
#define me node[n]

#ifdef NO_FENCE
#define FENCED_IN(r) true
#else
#define FENCED_IN(r) (alive[r.term] && owner == r.term)
#endif
#ifdef NO_KEY
#define FREE(r) (length >= r.place)
#else
#define FREE(r) (length == r.place)
#endif
#define STORED(r) (length > r.place && stored[r.place] == r.move)

/* The database carries a request out, in one transaction: the place is the primary key, and what has the place
   says which move it is. */
inline store(r, answer) {
    if :: FENCED_IN(r) && FREE(r) ->
            assert(owner == r.term);          /* nobody stores on what is another's */
            assert(!said_refused[r.move]);    /* nothing is stored that was said to be refused */
            assert(!STORED(r));               /* nothing is stored twice */
            stored[length] = r.move; length++; answer = done
       :: FENCED_IN(r) && !FREE(r) && STORED(r) -> answer = done
       :: else -> answer = refused
    fi
}
inline copy(a, b) { a.move = b.move; a.term = b.term; a.place = b.place }
inline clear(r) { r.move = 0; r.term = 0; r.place = 0 }
inline leave_behind(n) { /* what has been sent may still arrive */
    if :: node[n].storing == sent && !node[n].late.move -> copy(node[n].late, node[n].now) :: true fi
}
inline forget(n) {
    leave_behind(n); clear(node[n].now); node[n].doubt = false; node[n].storing = nothing; node[n].renewal = nothing;
    node[n].term = 0; node[n].valid = 0; node[n].counted = 0; node[n].has = false; node[n].knows = 0
}

proctype Run(byte n) {
    byte other;
    do
    /* Begin a lease. */
    :: atomic { !me.term && last_term < TERMS -> last_term++; me.term = last_term; alive[last_term] = true;
        left[last_term] = LEASE; me.valid = LEASE }
    /* Renew it: sent, carried out, answered, with any time between. */
    :: atomic { me.term && me.renewal == nothing -> me.renewal = sent; me.counted = LEASE }
    :: atomic { me.renewal == sent ->
        if :: alive[me.term] -> left[me.term] = LEASE; me.renewal = done :: else -> me.renewal = refused fi }
#ifdef SLOW_CLOCK
    :: atomic { me.renewal == done -> me.renewal = nothing; me.valid = LEASE; me.counted = 0 }
#else
    :: atomic { me.renewal == done -> me.renewal = nothing; me.valid = me.counted; me.counted = 0 }
#endif
    /* The lease is gone: everything is given up, and nobody is told anything. */
    :: atomic { me.renewal == refused || me.storing == refused -> forget(n) }
    /* End the other node's lease when it has run out, which frees its table. */
    :: atomic { me.valid && !grace -> other = 1; do
            :: other <= TERMS && (other == me.term || !alive[other] || left[other]) -> other++
            :: else -> break od;
        if :: other <= TERMS -> alive[other] = false; if :: owner == other -> owner = 0 :: else fi :: else fi;
        other = 0 }
    /* Take up a table that is nobody's, and read it. */
    :: atomic { me.term && alive[me.term] && !owner -> owner = me.term; me.has = true; me.knows = length }
    /* Store a move. */
    :: atomic { me.has && me.valid && me.storing == nothing && moves < MOVES -> moves++; me.storing = sent;
        me.now.move = moves; me.now.term = me.term; me.now.place = me.knows }
    :: atomic { me.storing == sent -> store(me.now, me.storing) }
    /* The connection was lost: the same is sent again, or takes too long, and everything is given up. */
    :: atomic { me.storing == unknown -> me.storing = sent }
    :: atomic { me.storing == unknown -> forget(n) }
    /* The database refuses a move that it could store, as with a full disk. */
    :: atomic { faults < FAULTS && me.storing == sent -> faults++; me.storing = denied }
    :: atomic { me.storing == denied ->
#ifdef REFUSE_DOUBT
        if :: true ->
#else
        if :: me.doubt -> me.storing = unknown
           :: !me.doubt ->
#endif
                said_refused[me.now.move] = true; clear(me.now); me.doubt = false; me.storing = nothing fi }
    /* Tell the players that the move is made. */
    :: atomic { me.storing == done -> assert(length > me.now.place && stored[me.now.place] == me.now.move);
        me.knows = me.now.place + 1; clear(me.now); me.doubt = false; me.storing = nothing }
    /* Tell whoever comes what the table looks like: only while no other node can have it. */
    :: atomic { me.has && me.valid && me.storing == nothing ->
        assert(owner == me.term && length == me.knows) }
    /* The process dies, or its connection does: the answer is lost. */
    :: atomic { faults < FAULTS && me.term -> faults++; forget(n) }
    :: atomic { faults < FAULTS && (me.storing == sent || me.storing == done) -> faults++;
        leave_behind(n); me.doubt = true; me.storing = unknown }
    od
}

active proctype World() { /* what arrives late, the passing of time, and the faults of the database */
    byte i; mtype ignored;
    atomic { run Run(0); run Run(1) };
    do
    :: atomic { node[0].late.move -> store(node[0].late, ignored); clear(node[0].late); ignored = nothing }
    :: atomic { node[1].late.move -> store(node[1].late, ignored); clear(node[1].late); ignored = nothing }
    :: atomic {
        i = 1; do :: i <= TERMS -> left[i] = (left[i] -> left[i] - 1 : 0); i++ :: else -> break od;
        i = 0; do :: i < NODES -> node[i].valid = (node[i].valid -> node[i].valid - 1 : 0);
            node[i].counted = (node[i].counted -> node[i].counted - 1 : 0); i++ :: else -> break od;
        grace = (grace -> grace - 1 : 0); i = 0 }
    :: atomic { faults < FAULTS -> faults++; grace = LEASE; /* what was sent is lost, and so are the answers */
        do :: i < NODES -> clear(node[i].late);
                if :: node[i].storing == sent || node[i].storing == done ->
                        node[i].doubt = true; node[i].storing = unknown
                   :: else fi; i++
           :: else -> break od; i = 0
#ifdef STALE_STANDBY
        ; if :: length -> length--; stored[length] = 0 :: else fi
#endif
#ifdef FAST_STANDBY
        ; grace = 0; i = 1; do :: i <= TERMS -> left[i] = 0; i++ :: else -> break od; i = 0
#endif
        }
    od
}

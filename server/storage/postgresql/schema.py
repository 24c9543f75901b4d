"""The tables in the database, and the steps from older versions of the journal to the newest.

Several servers may start at once: one of them makes the step, under a lock, and the others find it made.
Those of the version before go on beside it, so a step removes nothing that they use: the step after it does.
They leave tables alone that a newer server has had, which may hold entries that they cannot read.
"""

from typing import Final

from server.errors import JournalError
from server.storage.entries import JOURNAL_VERSION
from server.storage.names import BEFORE_JOURNAL_6, EVENING
from server.storage.postgresql.database import Connection, Database

_OLDEST_BESIDE: Final = 6  # servers of older versions take an evening for a table

# Errors of `append_entries`, in a class that the SQL standard leaves free, after which the term is given up.
LOST: Final = "PL003"
FENCING: Final = {
    "PL001": "the lease is lost",
    "PL002": "another server has taken it up",
    LOST: "the database has lost changes",
}

_VERSION_1: Final = """
CREATE TABLE journal (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), version integer NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO journal (version) VALUES (1);

-- A server that runs. Its term is the token that every change has to show: there is never the same one again.
CREATE TABLE node (
    term bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, address text NOT NULL,
    expires timestamptz NOT NULL
);
-- Every code that is taken: '=' in use, '~' archived, '!' set aside; and whose it is, NULL for nobody's.
CREATE TABLE game_table (
    code text PRIMARY KEY, place text NOT NULL DEFAULT '=', opened bigint GENERATED ALWAYS AS IDENTITY,
    term bigint REFERENCES node ON DELETE SET NULL
);
CREATE INDEX game_table_of_node ON game_table (term);

CREATE TABLE entry (
    code text NOT NULL, number integer NOT NULL, body text NOT NULL, time bigint, chain bytea NOT NULL,
    PRIMARY KEY (code, number)
);
CREATE TABLE archive (
    code text PRIMARY KEY, archived bigint NOT NULL, entries bytea NOT NULL, origin text NOT NULL,
    played integer NOT NULL, length integer NOT NULL, chain bytea NOT NULL, opened bigint, changed bigint,
    contents text NOT NULL, seal bytea NOT NULL, rank bigint GENERATED ALWAYS AS IDENTITY
);
CREATE TABLE set_aside (
    code text PRIMARY KEY, since bigint NOT NULL, reason text NOT NULL, entries bytea NOT NULL,
    whole integer NOT NULL, length integer NOT NULL
);
CREATE TABLE record_due (code text PRIMARY KEY, ended bigint NOT NULL);
"""
_VERSION_2: Final = """
-- What a server tells the others: what holds until it is told otherwise has a key, and a body of NULL when it
-- holds no longer; a message has no key, and perhaps a server that it is for. All of it goes with the lease,
-- and is told anew by those who told it when it is lost with PostgreSQL's memory; so it costs no log.
CREATE UNLOGGED TABLE told (
    term bigint NOT NULL REFERENCES node ON DELETE CASCADE, number bigint NOT NULL,
    key text CHECK (length(key) <= 64), target bigint, body bytea CHECK (length(body) <= 65536),
    time timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (term, number), UNIQUE (term, key)
);
-- One statement, so that no server that stops in the middle of it holds up the end of its own lease. The
-- notification says only that there is something: anybody who may connect can send one, and hear it.
CREATE FUNCTION tell(
    my_term bigint, numbers bigint[], keys text[], targets bigint[], bodies bytea[]
) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    INSERT INTO told (term, number, key, target, body)
        SELECT my_term, new.number, new.key, new.target, new.body
        FROM unnest(numbers, keys, targets, bodies) AS new (number, key, target, body) WHERE new.key IS NULL
        ON CONFLICT (term, number) DO NOTHING;
    INSERT INTO told (term, number, key, body)
        SELECT my_term, new.number, new.key, new.body
        FROM unnest(numbers, keys, bodies) AS new (number, key, body) WHERE new.key IS NOT NULL
        ON CONFLICT (term, key) DO UPDATE
        SET number = EXCLUDED.number, body = EXCLUDED.body, time = EXCLUDED.time
        WHERE told.number < EXCLUDED.number;
    PERFORM pg_notify('palatinus_' || md5(current_schema), my_term::text);
END
$function$;
"""
_VERSION_3: Final = """
-- A server that is about to stop, and takes up nothing more.
ALTER TABLE node ADD COLUMN leaving boolean NOT NULL DEFAULT false;
-- To whom the owner of a table offers it: that server may make it its own, as long as it is offered.
ALTER TABLE game_table ADD COLUMN offered bigint REFERENCES node ON DELETE SET NULL;
CREATE INDEX game_table_offered ON game_table (offered) WHERE offered IS NOT NULL;
CREATE INDEX game_table_free ON game_table (opened) WHERE term IS NULL AND place = '=';
"""
_VERSION_4: Final = """
-- One commit: the entries of all tables, or nothing. Each table that is `known` has to be the node's, and
-- to have `lengths` entries that end with the link `ends`. What is sent again finds its entries there, or
-- does the same once more. A schema that began with an older version has a table `line`, and a function of
-- this name with 14 arguments, for nodes of that version.
CREATE FUNCTION append_entries(
    my_term bigint, new_tables text[], known text[], lengths integer[], ends bytea[], codes text[],
    numbers integer[], bodies text[], links bytea[], now bigint, forgotten text[], finished text[],
    ended_at bigint[]
) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
    not_owned text[];
    lost text[];
BEGIN
    PERFORM FROM node WHERE term = my_term FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the lease is lost' USING ERRCODE = 'PL001';
    END IF;
    SELECT array_agg(code) INTO not_owned FROM unnest(known) AS code WHERE NOT EXISTS (
        SELECT FROM game_table AS own WHERE own.code = code.code AND own.term = my_term AND own.place = '='
    );
    IF not_owned IS NOT NULL THEN
        RAISE EXCEPTION 'another server has taken it up' USING ERRCODE = 'PL002';
    END IF;
    SELECT array_agg(code) INTO lost FROM unnest(known, lengths, ends) AS before (code, length, link)
        WHERE NOT EXISTS (
            SELECT FROM entry WHERE entry.code = before.code AND number = length - 1 AND chain = link
        );
    IF lost IS NOT NULL THEN
        RAISE EXCEPTION 'the database has lost changes' USING ERRCODE = 'PL003';
    END IF;
    IF cardinality(forgotten) > 0 THEN
        DELETE FROM entry USING game_table AS own
            WHERE entry.code = ANY (forgotten) AND own.code = entry.code AND own.term = my_term;
        DELETE FROM game_table WHERE code = ANY (forgotten) AND term = my_term;
    END IF;
    IF cardinality(new_tables) > 0 THEN
        INSERT INTO game_table (code, term) SELECT code, my_term FROM unnest(new_tables) AS code;
    END IF;
    INSERT INTO entry (code, number, body, time, chain)
        SELECT code, number, body, now, link FROM unnest(codes, numbers, bodies, links)
        AS added (code, number, body, link);
    IF cardinality(finished) > 0 THEN
        INSERT INTO record_due SELECT * FROM unnest(finished, ended_at)
            ON CONFLICT (code) DO UPDATE SET ended = EXCLUDED.ended;
    END IF;
END
$function$;
"""
_VERSION_5: Final = """
-- The version of the journal that a server reads and writes. Older servers do not state theirs, and so can
-- begin no lease any more: none of them runs during this step, but one may be asleep.
DELETE FROM node;
ALTER TABLE node ADD COLUMN version integer NOT NULL DEFAULT 4 CHECK (version > 4);
-- The version that a table needs: that of the newest server that has had it, if that is not the default.
ALTER TABLE game_table ADD COLUMN needs integer NOT NULL DEFAULT 5;
"""
_VERSION_6: Final = f"""
-- An evening has a name that no table can have. Older servers do not know it: none of them runs during this
-- step, but one may be asleep, and finds nothing to take up when it wakes.
DELETE FROM node;
UPDATE game_table SET needs = 6;
UPDATE game_table SET code = '{EVENING}' WHERE code = '{BEFORE_JOURNAL_6}';
UPDATE entry SET code = '{EVENING}' WHERE code = '{BEFORE_JOURNAL_6}';
UPDATE set_aside SET code = '{EVENING}' WHERE code = '{BEFORE_JOURNAL_6}';
"""  # noqa: S608 - constants
_NEEDS: Final = f"ALTER TABLE game_table ALTER COLUMN needs SET DEFAULT {JOURNAL_VERSION}"
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('palatinus ' || $1, 0))"
_IN_USE: Final = "SELECT EXISTS (SELECT FROM node WHERE expires > clock_timestamp())"
_STEPS: Final = (_VERSION_1, _VERSION_2, _VERSION_3, _VERSION_4, _VERSION_5, _VERSION_6)


async def prepare(connection: Connection, database: Database) -> None:
    """Bring the schema to the newest version; raises JournalError if it is newer, or not Palatinus'."""
    schema = database.schema
    async with connection.transaction():
        await connection.execute(_LOCK, schema)
        await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        version = await _version(connection, database)
        if version > JOURNAL_VERSION:
            raise JournalError(
                "the database {database} was written by a newer Palatinus (journal {version}; this one reads "
                "{known}). Update Palatinus, or choose another --database",
                database=database,
                version=version,
                known=JOURNAL_VERSION,
            )
        if 0 < version < max(JOURNAL_VERSION - 1, _OLDEST_BESIDE) and await connection.fetchval(_IN_USE):
            raise JournalError(
                "servers that are too old to run beside this one are using the database {database} "
                "(journal {version}). Stop all of them first",
                database=database,
                version=version,
            )
        for step in _STEPS[version:]:
            await connection.execute(step)
        if version < JOURNAL_VERSION:
            await connection.execute(_NEEDS)
            await connection.execute("UPDATE journal SET version = $1", JOURNAL_VERSION)


async def check(connection: Connection, database: Database) -> None:
    """Raise JournalError unless there is a journal of the newest version."""
    if (version := await _version(connection, database)) != JOURNAL_VERSION:
        raise JournalError(
            "the database {database} has no journal of this version ({version}; this one reads {known})",
            database=database,
            version=version,
            known=JOURNAL_VERSION,
        )


async def _version(connection: Connection, database: Database) -> int:
    """Return the version of what is in the schema, 0 for nothing; raises JournalError."""
    names = {
        name
        for (name,) in await connection.fetch(
            "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind = 'r'",
            f'"{database.schema}"',
        )
    }
    if not names:
        return 0
    if not {"journal", "game_table"} <= names:
        raise JournalError(
            "the schema {schema} in the database {database} is not a Palatinus journal. "
            "Choose another --database",
            schema=database.schema,
            database=database,
        )
    version: int = await connection.fetchval("SELECT version FROM journal")
    return version

import { Client } from 'pg'

/** A process took a run. */
export interface Leased {
  readonly runId: string
  readonly epoch: number
  readonly writer: string
  /** By the clock of the machine, in milliseconds. */
  readonly at: number
}

/** A process was a node of the cluster. */
export interface Joined {
  readonly writer: string
  /** When it left or was declared dead; null if it did not. */
  readonly goneAt: number | null
  /** Milliseconds since its last beat when it was declared dead; null if it left, or lives. */
  readonly silentFor: number | null
}

/** A step was recorded. */
export interface RecordedStep {
  readonly runId: string
  readonly key: string
  readonly at: number
}

/** A part of a log as it is stored. */
export interface StoredPart {
  readonly runId: string
  readonly seq: number
  readonly json: string
  /** When it was written, by the clock of the machine. */
  readonly at: number
}

/**
 * What the database itself sees. Triggers write down who has which run, and every write to a run by a process that does not have
 * it: the process is the `application_name` of the connection.
 */
const SCHEMA = `
  create schema audit;
  create table audit.lease (run_id text, epoch int, writer text, at timestamptz, primary key (run_id, epoch));
  create table audit.step (run_id text, key text, at timestamptz);
  create table audit.part (run_id text, seq int, at timestamptz, primary key (run_id, seq));
  create table audit.node (node_id text primary key, writer text, joined_at timestamptz, gone_at timestamptz, seen_at timestamptz);
  create table audit.place (session_key text, holder text, at timestamptz);
  create table audit.stale (run_id text, what text, writer text, owner text, at timestamptz);

  create function audit.writer() returns text language sql as $$ select current_setting('application_name') $$;
  create function audit.check_owner(id text, what text) returns void language plpgsql as $$
    declare had text;
    begin
      select l.writer into had from audit.lease l where l.run_id = id order by l.epoch desc limit 1;
      if had is distinct from audit.writer() then
        insert into audit.stale values (id, what, audit.writer(), had, clock_timestamp());
      end if;
    end $$;
  create function audit.on_run() returns trigger language plpgsql as $$
    begin
      if tg_op = 'INSERT' or new.epoch <> old.epoch then
        insert into audit.lease values (new.run_id, new.epoch, audit.writer(), clock_timestamp());
      elsif new.status <> old.status or new.ended_at is distinct from old.ended_at then
        perform audit.check_owner(new.run_id, 'run');
      end if;
      return null;
    end $$;
  ${onRows('run_part', 'seq', 'audit.part')}
  ${onRows('run_step', 'key', 'audit.step')}
  create function audit.on_place() returns trigger language plpgsql as $$
    begin
      insert into audit.place select new.session_key, new.holder, clock_timestamp() from run r
        where r.run_id = new.holder and r.ended_at is null;
      return null;
    end $$;
  create function audit.on_node() returns trigger language plpgsql as $$
    begin
      if tg_op = 'INSERT' then insert into audit.node values (new.node_id, audit.writer(), clock_timestamp());
      else update audit.node set gone_at = clock_timestamp(), seen_at = old.seen_at where node_id = old.node_id;
      end if;
      return null;
    end $$;`

// Each in a transaction of its own: nodes are at work, and lock the tables in an order of theirs.
const TRIGGERS = [
  'create trigger audit after insert or update on run for each row execute function audit.on_run()',
  triggerOnRows('run_part'),
  triggerOnRows('run_step'),
  'create trigger audit after insert on session_turn for each row execute function audit.on_place()',
  'create trigger audit after insert or delete on node for each row execute function audit.on_node()'
]

const MS = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`

// Keeps which rows a table got when, and who inserted some into a run of another process.
function onRows(table: string, key: string, kept: string): string {
  return `
  create function audit.on_${table}() returns trigger language plpgsql as $$
    begin
      insert into ${kept} select n.run_id, n.${key}, clock_timestamp() from new_rows n;
      perform audit.check_owner(n.run_id, '${table}') from (select distinct run_id from new_rows) n;
      return null;
    end $$;`
}

function triggerOnRows(table: string): string {
  return `create trigger audit after insert on ${table} referencing new table as new_rows
    for each statement execute function audit.on_${table}()`
}

/** Watches a database whose tables exist. */
export class Audit {
  readonly #url: string

  private constructor(url: string) {
    this.#url = url
  }

  static async begin(url: string): Promise<Audit> {
    const audit = new Audit(url)
    await audit.query(SCHEMA)
    for (const trigger of TRIGGERS) await audit.query(trigger)
    // The first node is there already.
    await audit.query(
      `insert into audit.node select node_id, (select application_name from pg_stat_activity where datname is not null
        and pid <> pg_backend_pid() and application_name <> '' limit 1), clock_timestamp() from node`
    )
    return audit
  }

  leases(): Promise<Leased[]> {
    return this.query(
      `select run_id as "runId", epoch, writer, ${MS('at')} as at from audit.lease order by run_id, epoch`
    )
  }

  nodes(): Promise<Joined[]> {
    const columns = `writer, ${MS('gone_at')} as "goneAt", ${MS('gone_at - seen_at')} as "silentFor"`
    return this.query(`select ${columns} from audit.node order by joined_at`)
  }

  steps(): Promise<RecordedStep[]> {
    return this.query(`select run_id as "runId", key, ${MS('at')} as at from audit.step`)
  }

  parts(): Promise<StoredPart[]> {
    return this.query(
      `select run_id as "runId", seq - count(*) over (partition by run_id, seq)::int + nth::int as seq, part as json, ${MS('a.at')} as at
        from run_part join audit.part a using (run_id, seq)
        cross join lateral string_to_table(json, chr(30)) with ordinality as p(part, nth) order by run_id, 2`
    )
  }

  /** Writes to a run by a process that did not have it. */
  stale(): Promise<object[]> {
    return this.query('select * from audit.stale')
  }

  /** Runs that were given a second place in their session before they had ended. */
  async displaced(): Promise<string[]> {
    const rows = await this.query<{ run: string }>(
      `select holder || ' ' || array_agg(at order by at)::text as run from audit.place
        group by session_key, holder having count(*) > 1`
    )
    return rows.map(({ run }) => run)
  }

  /** Runs that have not ended, and wait for no answer. */
  async stuck(): Promise<string[]> {
    const rows = await this.query<{ run: string }>(
      `select r.name || ' ' || r.run_id || ' ' || r.status || ' of ' || coalesce(n.writer, 'no node') as run
        from run r left join audit.node n using (node_id) where r.ended_at is null and r.status <> 'input-required'`
    )
    return rows.map(({ run }) => run)
  }

  /** Ends half of the connections of all nodes. */
  async disconnectHalf(): Promise<void> {
    await this.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname is not null and pid <> pg_backend_pid() and random() < 0.5`
    )
  }

  async query<Row extends object>(text: string): Promise<Row[]> {
    const client = new Client({ connectionString: this.#url })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query<Row>(text)).rows
    } finally {
      await client.end()
    }
  }
}

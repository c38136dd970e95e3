import type { DatabaseSync } from 'node:sqlite'
import type { SqliteStatement } from 'kysely'
import type { Commit } from '../commit.ts'
import type {
  Accepted,
  Append,
  ChangedRows,
  Creation,
  Entering,
  Report,
  Reports,
  RunWrite,
  RunWriter,
  Save,
  TurnWrite
} from '../runs/run-write.ts'
import { prepareStatement } from './open-database.ts'

const ACCEPTED: Accepted = Object.freeze({})
// Rows of one statement: each number of rows is another statement.
const MAX_ROWS = 32

type Row = Readonly<Record<string, unknown>>

interface Insert {
  readonly sql: string
  readonly columns: readonly string[]
}

/**
 * Writes what runs write by prepared statements, within the transaction of all writes of the same turn: these are most of the writes
 * of a service, and to build a query costs more than to execute it.
 */
export class SqliteRunWriter implements RunWriter {
  readonly #commit: Commit
  readonly #database: DatabaseSync
  readonly #reports: Reports
  readonly #statements = new Map<string, SqliteStatement>()
  readonly #inserts = new Map<string, Insert>()

  constructor(commit: Commit, database: DatabaseSync, reports: Reports) {
    this.#commit = commit
    this.#reports = reports
    this.#database = database
  }

  /** As `RunWriter.write`; no limit of an owner is checked, since only one process creates runs. */
  write(write: RunWrite): Promise<Accepted | undefined> {
    return this.#commit.write(() => (this.#perform(write) ? ACCEPTED : undefined))
  }

  #perform(write: RunWrite): boolean {
    switch (write.kind) {
      case 'create':
        return this.#create(write)
      case 'enter':
        return this.#enter(write)
      case 'append':
        return this.#append(write)
      case 'save':
        return this.#save(write)
      case 'turn':
        return this.#saveTurn(write)
      case 'forget':
        this.#run('delete from checkpoint where run_id = ?', write.runId)
        return true
      default:
        throw new Error('places are given in memory')
    }
  }

  // The start keys of an owner differ, and so do run ids.
  #create({ row }: Creation): boolean {
    return this.#insert('run', [row], 'on conflict do nothing') === 1
  }

  #enter({ runId, row }: Entering): boolean {
    const has = (table: string) =>
      this.#prepare(`select 1 from ${table} where run_id = ?`).all([runId]).length === 1
    if (has('session_run') || !has('run')) return has('run')
    const entered = {
      ...row,
      created_at: row.updated_at,
      last_seq: 0,
      last_ordinal: 1,
      last_run: runId,
      listed: 1
    }
    this.#insert(
      'session',
      [entered],
      `on conflict (session_key) do update set last_ordinal = last_ordinal + 1, updated_at = excluded.updated_at,
        last_run = excluded.last_run, listed = 1`
    )
    const { session_key: key } = row
    this.#run(
      `insert into session_run (session_key, ordinal, run_id)
        select session_key, last_ordinal, last_run from session where session_key = ?`,
      key
    )
    return true
  }

  #append({ runId, epoch, parts, steps, change, bytes }: Append): boolean {
    if (!(change ? this.#change(runId, epoch, change, bytes) : this.#isLeased(runId, epoch))) return false
    this.#insert(
      'run_part',
      parts.map(({ seq, json }) => ({ run_id: runId, seq, json }))
    )
    if (change?.input !== undefined) this.#insert('run_input', [change.input])
    if (change?.report !== undefined && this.#reports.mayReport) this.#report(runId, change.at, change.report)
    const values = change?.values ?? []
    this.#insert(
      'run_value',
      values.map((value) => ({ run_id: runId, ...value }))
    )
    // Steps and checkpoint may have more than the log of the run shows.
    if (change !== undefined && change.endedAt !== null) {
      this.#run('delete from run_step where run_id = ?', runId)
      this.#run('delete from checkpoint where run_id = ?', runId)
    } else {
      const rows = steps.map(({ key, output }) => ({ run_id: runId, key, output }))
      this.#insert('run_step', rows, 'on conflict do nothing')
    }
    return true
  }

  #isLeased(runId: string, epoch: number): boolean {
    const sql = 'select 1 from run where run_id = ? and epoch = ? and ended_at is null'
    return this.#prepare(sql).all([runId, epoch]).length === 1
  }

  #change(runId: string, epoch: number, change: ChangedRows, bytes: number): boolean {
    const changed = this.#run(
      `update run set bytes = bytes + ?, status = ?, updated_at = ?, ended_at = ?, result = coalesce(?, result),
        preview = coalesce(?, preview), stats = coalesce(?, stats), error = coalesce(?, error)
        where run_id = ? and epoch = ? and ended_at is null`,
      bytes,
      change.status,
      change.at,
      change.endedAt,
      change.result,
      change.preview,
      change.stats,
      change.error,
      runId,
      epoch
    )
    return changed === 1
  }

  // The listeners claim messages by a write, after this one.
  #report(runId: string, at: number, { event, detail, key }: Report): void {
    const added = this.#run(
      `insert into webhook_delivery (delivery_id, webhook_id, owner, run_id, registry, kind, name, session_id, metadata, event, detail, at, due_at)
        select ? || '_' || w.webhook_id, w.webhook_id, r.owner, r.run_id, r.registry, r.kind, r.name, r.session_id, r.metadata, ?, ?, ?, ?
        from run r join webhook w on w.subject in ('run ' || r.run_id, 'owner ' || r.owner)
        where r.run_id = ? and instr(w.events, ?) > 0 and (w.registries = '' or instr(w.registries, ' ' || r.registry || ' ') > 0)
        on conflict do nothing`,
      key,
      event,
      detail,
      at,
      at,
      runId,
      ` ${event} `
    )
    if (added > 0) this.#reports.added()
  }

  #save({ runId, epoch, state }: Save): boolean {
    const saved = this.#run(
      `insert into checkpoint (run_id, epoch, state) select ?, ?, ?
        where not exists (select 1 from run where run_id = ? and (epoch > ? or ended_at is not null))
        on conflict (run_id) do update set epoch = excluded.epoch, state = excluded.state
        where checkpoint.epoch <= excluded.epoch`,
      runId,
      epoch,
      state,
      runId,
      epoch
    )
    return saved === 1
  }

  #saveTurn({ runId, epoch, row, turnId, title, listed, messages, after }: TurnWrite): boolean {
    const has = (sql: string, ...values: unknown[]) => this.#prepare(sql).all(values).length > 0
    if (epoch !== null && !has('select 1 from run where run_id = ? and epoch = ?', runId, epoch)) return false
    const key = row.session_key
    const turn = 'select 1 from session_message where session_key = ? and turn_id = ? limit 1'
    if (messages.length === 0 || has(turn, key, turnId)) return true
    const lengthened = {
      ...row,
      created_at: row.updated_at,
      title,
      turns: 1,
      last_seq: messages.length,
      last_ordinal: 0,
      listed
    }
    this.#insert(
      'session',
      [lengthened],
      `on conflict (session_key) do update set title = case when turns = 0 then coalesce(title, excluded.title) else title end,
        turns = turns + 1, last_seq = last_seq + excluded.last_seq, updated_at = excluded.updated_at, listed = max(listed, excluded.listed)`
    )
    const [session] = this.#prepare('select last_seq from session where session_key = ?').all([key])
    const first = (session as { last_seq: number }).last_seq - messages.length + 1
    if (after !== undefined && (after.key !== key || after.seq < first - 1))
      this.#insert('session_branch', [
        { session_key: key, first_seq: first, parent_key: after.key, parent_seq: after.seq }
      ])
    this.#insert(
      'session_message',
      messages.map((message, index) => ({ session_key: key, seq: first + index, turn_id: turnId, message }))
    )
    return true
  }

  // Returns the number of rows that were inserted.
  #insert(table: string, rows: readonly Row[], conflict = ''): number {
    let inserted = 0
    for (let from = 0; from < rows.length; from += MAX_ROWS) {
      const some = rows.slice(from, from + MAX_ROWS)
      const { sql, columns } = this.#insertOf(table, some, conflict)
      inserted += this.#run(sql, ...some.flatMap((row) => columns.map((column) => row[column])))
    }
    return inserted
  }

  #insertOf(table: string, rows: readonly Row[], conflict: string): Insert {
    const key = `${table} ${rows.length} ${conflict}`
    let insert = this.#inserts.get(key)
    if (insert === undefined) {
      const columns = Object.keys(rows[0]!)
      const row = `(${columns.map(() => '?').join(', ')})`
      const sql = `insert into ${table} (${columns.join(', ')}) values ${rows.map(() => row).join(', ')} ${conflict}`
      insert = { sql, columns }
      this.#inserts.set(key, insert)
    }
    return insert
  }

  // Returns the number of rows that were changed.
  #run(sql: string, ...values: unknown[]): number {
    return Number(this.#prepare(sql).run(values).changes)
  }

  #prepare(sql: string): SqliteStatement {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = prepareStatement(this.#database, sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

import { hash } from 'node:crypto'
import type { Client } from 'pg'
import { bigintArray, intArray, textArray } from './binary-arrays.ts'
import { packParts } from './packed-parts.ts'
import { RESULT } from '../../encoding/values.ts'
import { limitIdle } from '../query.ts'
import {
  sessionOfWrite,
  type Accepted,
  type Append,
  type ChangedRows,
  type Creation,
  type Entering,
  type Forget,
  type Leaving,
  type Placing,
  type Reports,
  type RunWrite,
  type Save,
  type TurnWrite
} from '../../runs/run-write.ts'
import {
  ENTER_COLUMNS,
  INPUT_COLUMNS,
  PLACE_COLUMNS,
  RUN_COLUMNS,
  TURN_COLUMNS,
  type AppendShape,
  type Statement,
  type Statements
} from './statements.ts'

// A connection that a pooler shares keeps no settings.
const BEGIN_WITH_LIMIT = `begin; ${limitIdle(3)}`

/** What commits a batch. */
export interface BatchHost {
  readonly statements: Statements
  readonly reports: Reports
  /** False for connections that cannot keep prepared statements, such as through a pooler of transactions. */
  readonly prepare: boolean
  /** True if all nodes read rows of several parts. */
  readonly isPacked: boolean
  /** True if an earlier attempt may have committed some of this batch, because its connection was lost. */
  readonly isRepeat: boolean
}

type Changing = Append & { readonly change: ChangedRows }

/** The write at this place was accepted; with `reported` it has added messages of webhooks. */
interface AcceptedRow extends Accepted {
  readonly ord: number
  readonly reported?: boolean
}

interface Sent {
  readonly statement: Statement
  readonly parameters: readonly unknown[]
  readonly writes: readonly RunWrite[]
  /** The places that are given with creations. */
  readonly places?: ReadonlyMap<RunWrite, Placing>
}

// Characters of a result in the row of its run: with more, too few of a page's rows could be updated on it.
const MAX_RESULT_IN_ROW = 480

const FORGOTTEN: Accepted = Object.freeze({})

/**
 * Writes a batch in one transaction and one round trip; returns the writes that were accepted. The others are fenced, or creations
 * that another run or the limit of their owner precludes. A batch has at most one change and one checkpoint of each run, the last of
 * its writes.
 * @throws the database's error; nothing is written then, unless the connection was lost
 */
export async function commitBatch(
  client: Client,
  batch: readonly RunWrite[],
  host: BatchHost
): Promise<ReadonlyMap<RunWrite, Accepted>> {
  const query = (statement: Statement, parameters: readonly unknown[]) =>
    client.query<AcceptedRow>({
      ...(host.prepare && { name: statement.name }),
      text: statement.text,
      values: [...parameters]
    })
  const known = host.isRepeat
    ? await findCommitted(batch, query, host.statements)
    : new Map<RunWrite, Accepted>()
  const sent = toStatements(
    batch.filter((write) => !known.has(write)),
    host
  )
  const accepted = new Map(known)
  let isReported = false
  const accept = ({ writes, places }: Sent, rows: readonly AcceptedRow[]) => {
    if (writes.length === 0) return
    for (const row of rows) {
      const write = writes[row.ord - 1]!
      accepted.set(write, row)
      const place = places?.get(write)
      if (place !== undefined) accepted.set(place, row)
      isReported ||= row.reported === true
    }
  }
  // The earlier attempt may have committed after this one had looked: it is what precluded or fenced these writes.
  const acceptLate = async () => {
    const refused = batch.filter((write) => !accepted.has(write))
    const late = await findCommitted(refused, query, host.statements)
    if (late.size === 0) return
    const created = new Set(Array.from(late.keys(), ({ runId }) => runId))
    const places = refused.filter(({ kind, runId }) => kind === 'place' && created.has(runId))
    for (const found of [late, await commitBatch(client, places, host)])
      for (const [write, row] of found) accepted.set(write, row)
  }
  if (sent.length === 1) {
    const { rows } = await query(sent[0]!.statement, sent[0]!.parameters)
    accept(sent[0]!, rows)
  } else if (sent.length > 1) {
    const begun = client.query(host.prepare ? 'begin' : BEGIN_WITH_LIMIT)
    const results = sent.map(({ statement, parameters }) => query(statement, parameters))
    const committed = client.query('commit')
    const settled = await Promise.allSettled([begun, ...results, committed])
    for (const each of settled) if (each.status === 'rejected') throw each.reason as Error
    for (const [index, each] of sent.entries()) accept(each, (await results[index]!).rows)
  }
  if (host.isRepeat) await acceptLate()
  for (const write of batch) if (write.kind === 'forget') accepted.set(write, FORGOTTEN)
  if (isReported) host.reports.added()
  return accepted
}

type Query = (statement: Statement, parameters: readonly unknown[]) => Promise<{ rows: AcceptedRow[] }>

// Appends without a change and checkpoints may be repeated; a run that was created or ended must not seem taken or fenced.
async function findCommitted(
  batch: readonly RunWrite[],
  query: Query,
  { created, ended }: Statements
): Promise<Map<RunWrite, Accepted>> {
  const creations = batch.filter((write) => write.kind === 'create')
  const endings = batch.filter(isChanging).filter(({ change }) => change.endedAt !== null)
  const found = new Map<RunWrite, Accepted>()
  if (creations.length > 0) {
    const ids = textArray(creations.map(({ runId }) => runId))
    for (const row of (await query(created, [ids])).rows) found.set(creations[row.ord - 1]!, row)
  }
  if (endings.length > 0) {
    const times = bigintArray(endings.map(({ change }) => change.endedAt))
    for (const row of (await query(ended, [...keysOf(endings), times])).rows)
      found.set(endings[row.ord - 1]!, row)
  }
  return found
}

// In this order, the writes of one run have the same effect as one after the other.
function toStatements(batch: readonly RunWrite[], host: BatchHost): Sent[] {
  const creations = new Map<string, Creation>()
  const places = new Map<RunWrite, Placing>()
  const placings: Placing[] = []
  const leaving: Leaving[] = []
  const entering: Entering[] = []
  const appends: Append[] = []
  const changing: Changing[] = []
  const turns: TurnWrite[] = []
  const saves: Save[] = []
  const forgets: Forget[] = []
  for (const write of batch) {
    if (write.kind === 'create') creations.set(write.runId, write)
    else if (write.kind === 'place') {
      const creation = write.row && creations.get(write.runId)
      if (creation === undefined) placings.push(write)
      else places.set(creation, write)
    } else if (write.kind === 'leave') leaving.push(write)
    else if (write.kind === 'enter') entering.push(write)
    else if (write.kind === 'turn') turns.push(write)
    else if (write.kind === 'save') saves.push(write)
    else if (write.kind === 'forget') forgets.push(write)
    else if (isChanging(write)) changing.push(write)
    else appends.push(write)
  }
  const sent: Sent[] = []
  const { statements } = host
  const sessions = new Set(batch.map(sessionOfWrite))
  sessions.delete(undefined)
  if (sessions.size > 0) sent.push(toLock(sessions as ReadonlySet<string>, statements))
  // First: what begins now finds the turn free.
  if (leaving.length > 0) sent.push(toLeave(leaving, statements))
  if (creations.size > 0) sent.push(toCreate([...creations.values()], places, host))
  if (placings.length > 0) sent.push(toPlace(placings, statements))
  if (entering.length > 0) sent.push(toEnter(entering, host))
  if (appends.length > 0) {
    const shape = shapeOf(appends, host.isRepeat)
    const created = appends.map(({ runId }) => creations.has(runId))
    const parameters = [...keysOf(appends), created, ...rowsOf(appends, shape, host)]
    sent.push({ statement: statements.append(shape), parameters, writes: appends })
  }
  if (saves.length > 0) {
    const parameters = [...keysOf(saves), textArray(saves.map(({ state }) => state))]
    sent.push({ statement: statements.save, parameters, writes: saves })
  }
  if (forgets.length > 0) {
    const parameters = [textArray(forgets.map(({ runId }) => runId))]
    sent.push({ statement: statements.forget, parameters, writes: [] })
  }
  if (changing.length > 0) sent.push(toChange(changing, host))
  // A turn may be saved after the end of its run.
  if (turns.length > 0) sent.push(toTurn(turns, new Set(changing.map(({ runId }) => runId)), host))
  return sent
}

function isChanging(write: RunWrite): write is Changing {
  return write.kind === 'append' && write.change !== undefined
}

function toCreate(
  writes: readonly Creation[],
  places: ReadonlyMap<RunWrite, Placing>,
  { statements, isRepeat: repeat }: BatchHost
): Sent {
  const limited = writes.some(({ most }) => most !== undefined)
  const placed = places.size > 0
  const parameters: unknown[] = RUN_COLUMNS.map(([name, type]) =>
    toArray(
      type,
      writes.map(({ row, nodeId }) => (name === 'node_id' ? nodeId : (row[name] ?? null)))
    )
  )
  if (placed)
    for (const [name] of PLACE_COLUMNS)
      parameters.push(
        textArray(
          writes.map((write) => places.get(write)?.row![name === 'session_key' ? name : 'owner'] ?? null)
        )
      )
  if (limited) parameters.push(bigintArray(writes.map(({ most }) => most ?? null)))
  return { statement: statements.create({ limited, placed, repeat }), parameters, writes, places }
}

function toPlace(writes: readonly Placing[], { place }: Statements): Sent {
  const parameters = [
    textArray(writes.map(({ sessionKey }) => sessionKey)),
    textArray(writes.map(({ runId }) => runId)),
    textArray(writes.map(({ nodeId }) => nodeId)),
    writes.map(({ ifFree }) => ifFree),
    writes.map(({ row }) => row !== undefined)
  ]
  return { statement: place, parameters, writes }
}

function toLeave(writes: readonly Leaving[], { leave }: Statements): Sent {
  const parameters = [
    textArray(writes.map(({ ticket }) => ticket.sessionKey)),
    textArray(writes.map(({ ticket }) => ticket.holder)),
    textArray(writes.map(({ ticket }) => ticket.nodeId)),
    bigintArray(writes.map(({ ticket }) => ticket.ticket)),
    writes.map(({ ticket }) => ticket.isOfRun)
  ]
  return { statement: leave, parameters, writes }
}

function toEnter(writes: readonly Entering[], { statements }: BatchHost): Sent {
  const columns = ENTER_COLUMNS.map(([name, type]) =>
    toArray(
      type,
      writes.map(({ row }) => row[name])
    )
  )
  const parameters = [textArray(writes.map(({ runId }) => runId)), ...columns]
  return { statement: statements.enter, parameters, writes }
}

/** The number by which a session is locked: a key may have any length. */
function lockOf(sessionKey: string): bigint {
  return hash('sha256', sessionKey, 'buffer').readBigInt64BE()
}

// In one order, so that two nodes do not wait for each other.
function toLock(keys: ReadonlySet<string>, { lock }: Statements): Sent {
  const numbers = Array.from(keys, lockOf).toSorted((a, b) => (a < b ? -1 : 1))
  return { statement: lock, parameters: [bigintArray(numbers)], writes: [] }
}

// Steps end with their run.
function toKept(write: Changing): Changing {
  const { change } = write
  if (change.endedAt === null) return write
  const { result, values } = change
  const staysInRow = result === null || result.length <= MAX_RESULT_IN_ROW || change.status === 'failed'
  const kept = staysInRow
    ? change
    : { ...change, result: null, values: [...values, { name: RESULT, seq: 0, json: result }] }
  return { ...write, steps: [], change: kept }
}

/** @param changed runs that the same transaction has changed */
function toTurn(writes: readonly TurnWrite[], changed: ReadonlySet<string>, { statements }: BatchHost): Sent {
  const columns = TURN_COLUMNS.map(([name, type]) =>
    name === 'written'
      ? writes.map(({ runId }) => changed.has(runId))
      : toArray(
          type,
          writes.map((write) => turnColumn(write, name))
        )
  )
  const ords: number[] = []
  const nths: number[] = []
  const messages: string[] = []
  for (const [index, write] of writes.entries())
    for (const [nth, message] of write.messages.entries()) {
      ords.push(index + 1)
      nths.push(nth + 1)
      messages.push(message)
    }
  const parameters = [...columns, intArray(ords), intArray(nths), textArray(messages)]
  return { statement: statements.turn, parameters, writes }
}

function turnColumn(
  write: TurnWrite,
  name: Exclude<(typeof TURN_COLUMNS)[number][0], 'written'>
): string | number | null {
  switch (name) {
    case 'run_id':
      return write.runId
    case 'epoch':
      return write.epoch
    case 'turn_id':
      return write.turnId
    case 'title':
      return write.title
    case 'listed':
      return write.listed
    case 'length':
      return write.messages.length
    case 'parent_key':
      return write.after?.key ?? null
    case 'parent_seq':
      return write.after?.seq ?? null
    default:
      return write.row[name]
  }
}

function toChange(writes: readonly Changing[], host: BatchHost): Sent {
  const kept = writes.map(toKept)
  const shape = shapeOf(kept, host.isRepeat)
  const changes = kept.map(({ change }) => change)
  const parameters = [
    ...keysOf(writes),
    bigintArray(writes.map(({ bytes }) => bytes)),
    textArray(changes.map(({ status }) => status)),
    bigintArray(changes.map(({ at }) => at)),
    bigintArray(changes.map(({ endedAt }) => endedAt)),
    textArray(changes.map(({ result }) => result)),
    textArray(changes.map(({ preview }) => preview)),
    textArray(changes.map(({ stats }) => stats)),
    textArray(changes.map(({ error }) => error)),
    writes.map(({ place }) => place?.isHeld === true),
    ...rowsOf(kept, shape, host)
  ]
  return { statement: host.statements.change(shape), parameters, writes }
}

function keysOf(writes: readonly { readonly runId: string; readonly epoch: number }[]): Buffer[] {
  return [textArray(writes.map(({ runId }) => runId)), intArray(writes.map(({ epoch }) => epoch))]
}

function shapeOf(writes: readonly Append[], repeat: boolean): AppendShape {
  return {
    steps: writes.some(({ steps }) => steps.length > 0),
    inputs: writes.some(({ change }) => change?.input !== undefined),
    values: writes.some(({ change }) => change !== undefined && change.values.length > 0),
    reports: writes.some(({ change }) => change?.report !== undefined),
    repeat
  }
}

function rowsOf(writes: readonly Append[], shape: AppendShape, { isPacked }: BatchHost): Buffer[] {
  const parts = owned(writes, (write) => (isPacked ? packParts(write.parts) : write.parts))
  const arrays = [
    parts.ords,
    intArray(parts.rows.map(({ seq }) => seq)),
    textArray(parts.rows.map(({ json }) => json))
  ]
  if (shape.steps) {
    const { ords, rows } = owned(writes, ({ steps }) => steps)
    arrays.push(ords, textArray(rows.map(({ key }) => key)), textArray(rows.map(({ output }) => output)))
  }
  if (shape.inputs) {
    const { ords, rows } = owned(writes, ({ change }) => (change?.input ? [change.input] : []))
    arrays.push(ords)
    for (const [name, type] of INPUT_COLUMNS)
      arrays.push(
        toArray(
          type,
          rows.map((row) => row[name] ?? null)
        )
      )
  }
  if (shape.values) {
    const { ords, rows } = owned(writes, ({ change }) => change?.values ?? [])
    arrays.push(
      ords,
      textArray(rows.map(({ name }) => name)),
      intArray(rows.map(({ seq }) => seq)),
      textArray(rows.map(({ json }) => json))
    )
  }
  if (shape.reports) {
    const { ords, rows } = owned(writes, ({ change }) => (change?.report ? [change.report] : []))
    arrays.push(
      ords,
      textArray(rows.map(({ event }) => event)),
      textArray(rows.map(({ detail }) => detail)),
      textArray(rows.map(({ key }) => key))
    )
  }
  return arrays
}

// The rows of all writes, and for each row the ordinal of its write.
function owned<T>(
  writes: readonly Append[],
  pick: (write: Append) => readonly T[]
): { ords: Buffer; rows: T[] } {
  const ords: number[] = []
  const rows: T[] = []
  for (const [index, write] of writes.entries())
    for (const row of pick(write)) {
      ords.push(index + 1)
      rows.push(row)
    }
  return { ords: intArray(ords), rows }
}

function toArray(type: 'text' | 'int' | 'bigint', values: readonly unknown[]): Buffer {
  if (type === 'text') return textArray(values as (string | null)[])
  return type === 'int' ? intArray(values as (number | null)[]) : bigintArray(values as (number | null)[])
}

import type { Client } from 'pg'
import { bigintArray, intArray, textArray } from './binary-arrays.ts'
import type {
  Append,
  ChangedRows,
  Creation,
  Entering,
  Forget,
  Reports,
  RunWrite,
  Save
} from '../../runs/run-write.ts'
import {
  ENTER_COLUMNS,
  INPUT_COLUMNS,
  RUN_COLUMNS,
  type AppendShape,
  type Statement,
  type Statements
} from './statements.ts'

/** What commits a batch. */
export interface BatchHost {
  readonly statements: Statements
  readonly reports: Reports
  /** False for connections that cannot keep prepared statements, such as through a pooler of transactions. */
  readonly prepare: boolean
  /** True if an earlier attempt may have committed some of this batch, because its connection was lost. */
  readonly isRepeat: boolean
}

type Changing = Append & { readonly change: ChangedRows }

/** The write at this place was accepted; with `reported` it has added messages of webhooks. */
interface AcceptedRow {
  readonly ord: number
  readonly reported?: boolean
}

interface Sent {
  readonly statement: Statement
  readonly parameters: readonly unknown[]
  readonly writes: readonly RunWrite[]
}

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
): Promise<ReadonlySet<RunWrite>> {
  const query = (statement: Statement, parameters: readonly unknown[]) =>
    client.query<AcceptedRow>({
      ...(host.prepare && { name: statement.name }),
      text: statement.text,
      values: [...parameters]
    })
  const known = host.isRepeat ? await findCommitted(batch, query, host.statements) : new Set<RunWrite>()
  const sent = toStatements(
    batch.filter((write) => !known.has(write)),
    host
  )
  const accepted = new Set(known)
  let isReported = false
  const accept = ({ writes }: Sent, rows: readonly AcceptedRow[]) => {
    for (const { ord, reported } of rows) {
      accepted.add(writes[ord - 1]!)
      isReported ||= reported === true
    }
  }
  if (sent.length === 1) {
    const { rows } = await query(sent[0]!.statement, sent[0]!.parameters)
    accept(sent[0]!, rows)
  } else if (sent.length > 1) {
    const begun = client.query('begin')
    const results = sent.map(({ statement, parameters }) => query(statement, parameters))
    const committed = client.query('commit')
    const settled = await Promise.allSettled([begun, ...results, committed])
    for (const each of settled) if (each.status === 'rejected') throw each.reason as Error
    for (const [index, each] of sent.entries()) accept(each, (await results[index]!).rows)
  }
  for (const write of batch) if (write.kind === 'forget') accepted.add(write)
  if (isReported) host.reports.added()
  return accepted
}

type Query = (statement: Statement, parameters: readonly unknown[]) => Promise<{ rows: AcceptedRow[] }>

// Appends without a change and checkpoints may be repeated; a run that was created or ended must not seem taken or fenced.
async function findCommitted(
  batch: readonly RunWrite[],
  query: Query,
  { created, ended }: Statements
): Promise<Set<RunWrite>> {
  const creations = batch.filter((write) => write.kind === 'create')
  const endings = batch.filter(isChanging).filter(({ change }) => change.endedAt !== null)
  const found = new Set<RunWrite>()
  if (creations.length > 0) {
    const ids = textArray(creations.map(({ runId }) => runId))
    for (const { ord } of (await query(created, [ids])).rows) found.add(creations[ord - 1]!)
  }
  if (endings.length > 0) {
    const times = bigintArray(endings.map(({ change }) => change.endedAt))
    for (const { ord } of (await query(ended, [...keysOf(endings), times])).rows) found.add(endings[ord - 1]!)
  }
  return found
}

// In this order, the writes of one run have the same effect as one after the other.
function toStatements(batch: readonly RunWrite[], host: BatchHost): Sent[] {
  const creations: Creation[] = []
  const entering: Entering[] = []
  const appends: Append[] = []
  const changing: Changing[] = []
  const saves: Save[] = []
  const forgets: Forget[] = []
  for (const write of batch) {
    if (write.kind === 'create') creations.push(write)
    else if (write.kind === 'enter') entering.push(write)
    else if (write.kind === 'save') saves.push(write)
    else if (write.kind === 'forget') forgets.push(write)
    else if (isChanging(write)) changing.push(write)
    else appends.push(write)
  }
  const sent: Sent[] = []
  const { statements } = host
  if (creations.length > 0) sent.push(toCreate(creations, host))
  if (entering.length > 0) sent.push(toEnter(entering, host))
  if (appends.length > 0) {
    const shape = shapeOf(appends, host.isRepeat)
    const parameters = [...keysOf(appends), ...rowsOf(appends, shape)]
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
  return sent
}

function isChanging(write: RunWrite): write is Changing {
  return write.kind === 'append' && write.change !== undefined
}

function toCreate(writes: readonly Creation[], { statements }: BatchHost): Sent {
  const isLimited = writes.some(({ most }) => most !== undefined)
  const parameters: unknown[] = RUN_COLUMNS.map(([name, type]) =>
    toArray(
      type,
      writes.map(({ row, nodeId }) => (name === 'node_id' ? nodeId : (row[name] ?? null)))
    )
  )
  if (isLimited) parameters.push(bigintArray(writes.map(({ most }) => most ?? null)))
  return { statement: statements.create(isLimited), parameters, writes }
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

function toChange(writes: readonly Changing[], { statements, isRepeat }: BatchHost): Sent {
  // A change of steps ends with the run.
  const kept = writes.map((write) => (write.change.endedAt === null ? write : { ...write, steps: [] }))
  const shape = shapeOf(kept, isRepeat)
  const changes = writes.map(({ change }) => change)
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
    ...rowsOf(kept, shape)
  ]
  return { statement: statements.change(shape), parameters, writes }
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

function rowsOf(writes: readonly Append[], shape: AppendShape): Buffer[] {
  const parts = owned(writes, (write) => write.parts)
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
  return type === 'int' ? intArray(values as number[]) : bigintArray(values as (number | null)[])
}

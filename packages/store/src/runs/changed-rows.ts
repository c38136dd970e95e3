import { isTerminalStatus, type Awaitable, type RunChange } from '@svc/contract'
import { reportedChange } from '@svc/registry/engine'
import { encodeLarge, RESULT, toShortJson } from '../encoding/large-values.ts'
import { toInputRow, toLongArgs, toShortArgs, type RowArgs } from '../rows/input-rows.ts'
import { MAX_IN_ROW } from '../rows/run-rows.ts'
import type { ChangedRows } from './run-write.ts'

type Values = { name: string; seq: number; json: string }[]

/** The rows of a change, and the bytes that they add to the size of the run. */
export interface SizedChange {
  readonly rows: ChangedRows
  readonly bytes: number
}

/** Large values take several turns of the event loop; without any the rows are returned at once. */
export function toChangedRows(runId: string, change: RunChange): Awaitable<SizedChange> {
  const { result, input } = change
  const json = result && toShortJson(result, MAX_IN_ROW)
  const args = input && toShortArgs(input)
  const isLong = (result !== undefined && json === undefined) || (input !== undefined && args === undefined)
  if (isLong) return toLargeRows(runId, change, json, args)
  return {
    rows: toRows(runId, change, json, input && args && toInputRow(runId, input, args), []),
    bytes: Buffer.byteLength(json ?? '')
  }
}

async function toLargeRows(
  runId: string,
  change: RunChange,
  json: string | undefined,
  args: RowArgs | undefined
): Promise<SizedChange> {
  const { result, input } = change
  const values: Values = []
  let bytes = Buffer.byteLength(json ?? '')
  if (result !== undefined && json === undefined) ({ bytes } = await addLarge(values, RESULT, result))
  const kept = input && (args ?? toLongArgs(await addLarge(values, input.inputId, input.args)))
  return { rows: toRows(runId, change, json, input && kept && toInputRow(runId, input, kept), values), bytes }
}

function toRows(
  runId: string,
  change: RunChange,
  result: string | undefined,
  input: ChangedRows['input'],
  values: Values
): ChangedRows {
  const { status, at, preview, stats, error } = change
  const reported = reportedChange(runId, change)
  return {
    status,
    at,
    endedAt: isTerminalStatus(status) ? at : null,
    result: result ?? null,
    preview: preview ?? null,
    stats: stats ? JSON.stringify(stats) : null,
    error: error ? JSON.stringify(error) : null,
    input,
    report: reported && {
      event: reported.event,
      detail: reported.detail === null ? null : JSON.stringify(reported.detail),
      key: reported.key
    },
    values
  }
}

async function addLarge(
  values: Values,
  name: string,
  value: unknown
): Promise<{ bytes: number; first: string }> {
  const { pieces, ...size } = await encodeLarge(value)
  for (const [seq, json] of pieces.entries()) values.push({ name, seq, json })
  return size
}

import { isTerminalStatus, type RunChange, type StoredInput } from '@svc/registry'
import { encodeLarge, RESULT, toShortJson } from '../../encoding/large-values.ts'
import { toInputRow, toLongArgs, toShortArgs } from '../../rows/input-rows.ts'
import { MAX_IN_ROW } from '../../rows/run-rows.ts'
import type { ChangedRows } from './lane-writes.ts'

type Values = { name: string; seq: number; json: string }[]

/** The rows of a change, and the bytes that they add to the size of the run. Large values take several turns of the event loop. */
export async function toChangedRows(
  runId: string,
  change: RunChange
): Promise<{ rows: ChangedRows; bytes: number }> {
  const { status, at, result, preview, error, input } = change
  const values: Values = []
  const json = result && toShortJson(result, MAX_IN_ROW)
  const isLong = result !== undefined && json === undefined
  const bytes = isLong ? await addLarge(values, RESULT, result) : Buffer.byteLength(json ?? '')
  return {
    rows: {
      status,
      at,
      endedAt: isTerminalStatus(status) ? at : null,
      result: json ?? null,
      preview: preview ?? null,
      error: error ? JSON.stringify(error) : null,
      input: input && (await toRow(runId, input, values)),
      values
    },
    bytes
  }
}

async function toRow(runId: string, input: StoredInput, values: Values) {
  const short = toShortArgs(input)
  if (short !== undefined) return toInputRow(runId, input, short)
  const { pieces, ...long } = await encodeLarge(input.args)
  addPieces(values, input.inputId, pieces)
  return toInputRow(runId, input, toLongArgs(long))
}

async function addLarge(values: Values, name: string, value: unknown): Promise<number> {
  const { pieces, bytes } = await encodeLarge(value)
  addPieces(values, name, pieces)
  return bytes
}

function addPieces(values: Values, name: string, pieces: readonly string[]): void {
  for (const [seq, json] of pieces.entries()) values.push({ name, seq, json })
}

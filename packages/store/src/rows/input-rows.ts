import type { InputOutcome, InputSummary, StoredInput } from '@svc/contract'
import { MAX_LISTED_ARGS, previewOfJson } from '@svc/contract/stores'
import type { Insertable, Kysely, Selectable } from 'kysely'
import { parseLarge, parseStored, toShortJson } from '../encoding/values.ts'
import type { Tables } from '../tables.ts'

// Accepting a damaged request would accept something unknown.
const DAMAGED: InputOutcome = { action: 'cancel', reason: 'the stored request is damaged' }

type InputRow = Selectable<Tables['run_input']>

/** The arguments of an input as its row has them: in full, or their beginning and their size in bytes. */
export interface RowArgs {
  readonly json: string | null
  readonly bytes: number
}

/** Arguments that their row has in full; undefined if they are too long. */
export function toShortArgs({ args }: StoredInput): RowArgs | undefined {
  const json = toShortJson(args, MAX_LISTED_ARGS)
  if (json === undefined) return undefined
  const bytes = Buffer.byteLength(json)
  return bytes > MAX_LISTED_ARGS ? undefined : { json: json || null, bytes }
}

/** Arguments that are stored in pieces; their row has the beginning. */
export function toLongArgs({ first, bytes }: { first: string; bytes: number }): RowArgs {
  return { json: previewOfJson(first), bytes }
}

/** The row of a pending input. */
export function toInputRow(
  runId: string,
  input: StoredInput,
  args: RowArgs
): Insertable<Tables['run_input']> {
  return {
    input_id: input.inputId,
    run_id: runId,
    kind: input.kind,
    message: input.message ?? null,
    schema: input.schema === undefined ? null : JSON.stringify(input.schema),
    tool_call_id: input.toolCallId ?? null,
    tool_name: input.toolName ?? null,
    args: args.json,
    args_bytes: args.bytes,
    source: JSON.stringify(input.source),
    path: JSON.stringify(input.path),
    expires_at: input.expiresAt,
    answer: input.answer && JSON.stringify(input.answer),
    seal_key: input.sealKey ?? null
  }
}

/** Every input of a run, with full arguments. */
export async function readInputs(db: Kysely<Tables>, runId: string): Promise<StoredInput[]> {
  const rows = await db
    .selectFrom('run_input')
    .selectAll()
    .where('run_id', '=', runId)
    .orderBy('expires_at')
    .orderBy('input_id')
    .execute()
  const inputs: StoredInput[] = []
  for (const row of rows) {
    const { argsPreview, argsBytes: _, args, ...rest } = toInputSummary(row)
    const all = argsPreview === undefined ? args : await parseLarge<unknown>(db, runId, row.input_id)
    const isDamaged = argsPreview !== undefined && all === undefined
    inputs.push({
      ...rest,
      ...(all !== undefined && { args: all }),
      path: parseStored<string[]>(row.path) ?? [],
      ...(isDamaged && { answer: DAMAGED })
    })
  }
  return inputs
}

/** The summary of an input in lists. */
export function toInputSummary(row: InputRow): InputSummary {
  const { args: json, args_bytes: argsBytes, message, tool_call_id: toolCallId, tool_name: toolName } = row
  const isLong = argsBytes > MAX_LISTED_ARGS
  const args = json === null || isLong ? null : parseStored<unknown>(json)
  const source = parseStored<string[]>(row.source)
  const schema = row.schema === null ? null : parseStored<unknown>(row.schema)
  const answer = row.answer === null ? null : parseOutcome(row.answer)
  const path = parseStored<string[]>(row.path)
  const isDamaged = [args, source, path, schema, answer].includes(undefined)
  return {
    inputId: row.input_id,
    kind: row.kind,
    ...(message !== null && { message }),
    ...(row.schema !== null && { schema }),
    ...(toolCallId !== null && { toolCallId }),
    ...(toolName !== null && { toolName }),
    ...(json !== null && (isLong ? { argsPreview: json } : { args })),
    argsBytes,
    source: source ?? [],
    expiresAt: row.expires_at,
    ...(row.seal_key !== null && { sealKey: row.seal_key }),
    answer: isDamaged ? DAMAGED : (answer ?? null)
  }
}

// Any other JSON would count as an answer, or as none yet.
function parseOutcome(json: string): InputOutcome | undefined {
  const outcome = parseStored<Partial<InputOutcome> | null>(json)
  return typeof outcome?.action === 'string' ? (outcome as InputOutcome) : undefined
}

import { isTerminalStatus, type RunSummary } from '@svc/registry'
import { readPresent } from '@svc/registry/wire-kit'
import { OPENAI_ERR_UNKNOWN_RESPONSE } from '../errors.ts'
import type { Surface } from '../surface.ts'
import { ResponseBuilder } from './response-builder.ts'

/** Where a response of a run ends because the run waits. */
export interface Wait {
  readonly runId: string
  /** The last part of the response. */
  readonly seq: number
  /** The inputs that it asks for, by the ids of their calls. */
  readonly asked: ReadonlyMap<string, string>
  /** The approvals that it asks for. */
  readonly approvals: ReadonlySet<string>
  /** True if some of them are not answered yet. */
  readonly isOpen: boolean
}

/**
 * The wait at which a response ended, or without an id the one that is open; undefined if the response is not over, or ended with its run.
 * @throws OPENAI_ERR_UNKNOWN_RESPONSE
 */
export async function readWait(
  { runs }: Pick<Surface, 'runs'>,
  { runId, status }: Pick<RunSummary, 'runId' | 'status'>,
  id?: string
): Promise<Wait | undefined> {
  const builder = new ResponseBuilder()
  const waits = new Map<string, Omit<Wait, 'isOpen'>>()
  let last = ''
  let exists = id === undefined
  for await (const { part } of readPresent(runs.stores, runId)) {
    builder.add(part)
    exists ||= builder.id === id
    if (!builder.isOver || builder.isEnd) continue
    const { calls, seq } = builder
    last = builder.id
    waits.set(last, { runId, seq, asked: new Map(calls.asked), approvals: new Set(calls.approvals) })
  }
  if (!exists) throw new OPENAI_ERR_UNKNOWN_RESPONSE(id!)
  // Only the last one may be: a response continues until the inputs of the one before are answered.
  const open =
    !isTerminalStatus(status) && (builder.isOver ? !builder.isEnd : builder.hasEarlier) ? last : undefined
  const wait = waits.get(id ?? open ?? '')
  return wait && { ...wait, isOpen: open === (id ?? open) }
}

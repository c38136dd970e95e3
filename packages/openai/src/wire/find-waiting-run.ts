import type { Principal, RunnableKind, RunSummary } from '@svc/contract'
import type { Surface } from '../surface.ts'

/** Inputs of an owner that are looked at. */
const LOOKED_AT = 200

/**
 * The run of the caller that waits for one of these: the id of a call of the client's tool, or of an input or approval. An id that a
 * provider has used again has a number after it, which the input does not have.
 */
export async function findWaitingRun(
  { runs, exposed }: Pick<Surface, 'runs' | 'exposed'>,
  { kind, name }: { readonly kind: RunnableKind; readonly name: string },
  ids: readonly string[],
  { sub: owner }: Principal
): Promise<RunSummary | undefined> {
  if (ids.length === 0) return undefined
  const toolCallIds = new Set(ids.flatMap((id) => [id, id.replace(/#\d+$/, '')]))
  const kinds = ['tool', 'question', 'auth', 'approval'] as const
  const { inputs } = await runs.listInputs({ kinds, owner, scope: exposed.scope(), limit: LOOKED_AT })
  for (const { run, input } of inputs) {
    const { inputId, toolCallId } = input
    if (run.kind !== kind || run.name !== name) continue
    if (ids.includes(inputId) || (toolCallId !== undefined && toolCallIds.has(toolCallId)))
      return runs.find(run.runId)
  }
  return undefined
}

import type OpenAI from 'openai'
import type { Response, ResponseOutputItem } from 'openai/resources/responses/responses'
import type { WireRun } from './wire.ts'

/** What a response asks for: approvals and calls by their ids. */
export interface AskedItem {
  readonly kind: 'approval' | 'question' | 'tool'
  readonly id: string
  readonly name: string
  readonly args: { readonly key?: string; readonly message?: string }
}

/** The id of the first response of a run. */
export function firstResponse(runId: string): string {
  return `resp_${runId}`
}

/** What a response asks for that no output of it answers. */
export function askedIn(output: readonly ResponseOutputItem[]): AskedItem[] {
  return output.flatMap((item): AskedItem[] => {
    if (item.type === 'mcp_approval_request')
      return [{ kind: 'approval', id: item.id, name: item.name, args: JSON.parse(item.arguments) as object }]
    if (item.type !== 'function_call' || item.status === 'incomplete') return []
    const { name, call_id: id } = item
    const kind = name === 'question' ? 'question' : name === 'pick' ? 'tool' : undefined
    if (kind === undefined) return []
    return [{ kind, id, name, args: JSON.parse(item.arguments) as object }]
  })
}

/** Follows a response to its end. */
async function followResponse(client: OpenAI, id: string): Promise<Response> {
  let last: Response | undefined
  for await (const event of await client.responses.retrieve(id, { stream: true }))
    if ('response' in event) last = event.response
  if (last === undefined) throw new Error(`${id} has no events`)
  return last
}

/** The responses of a run, each once it is over, to its end. */
export async function* responsesOf(client: OpenAI, run: WireRun): AsyncGenerator<Response> {
  let after = 0
  for (let id: string | undefined = firstResponse(run.runId); id !== undefined;) {
    yield await followResponse(client, id)
    ;[id, after] = await nextResponse(client, run, after)
  }
}

// The id of the next response has the place at which the last one ended, where the run waited.
async function nextResponse(
  client: OpenAI,
  run: WireRun,
  after: number
): Promise<[string | undefined, number]> {
  for (let present = after; ;) {
    const { waits, isOver } = run.progress()
    for (const seq of waits) {
      if (seq <= after) continue
      const id = `${firstResponse(run.runId)}_${seq}`
      const isNext = await client.responses.retrieve(id).then(
        () => true,
        (err: { status?: number }) => {
          if (err.status !== 404) throw err
          return false
        }
      )
      if (isNext) return [id, seq]
    }
    if (isOver) return [undefined, after]
    present = await run.beyond(present)
  }
}

import type { JsonPieces, RunQuery, RunSummary } from '@svc/contract'
import { formatRunCursor } from '@svc/contract/stores'
import { sendPieces, toRunRecord, type RunEngine } from '@svc/surface'
import type { FastifyReply } from 'fastify'
import { collectPage, type Page } from './collect-page.ts'
import type { Surface } from '../surface.ts'

/** Reads one page of runs. @throws REG_ERR_BAD_CURSOR */
export function listRuns(
  runs: Pick<RunEngine, 'list'>,
  { limit, cursor, ...filter }: RunQuery,
  toItem: (run: RunSummary) => object
): Promise<Page> {
  return collectPage<RunSummary>(
    {
      async read(some, after) {
        const page = await runs.list({
          ...filter,
          limit: some,
          ...(after !== undefined && { cursor: after })
        })
        return { items: page.runs, nextCursor: page.nextCursor }
      },
      encode: (run) => JSON.stringify(toItem(run)),
      cursorOf: ({ runId, createdAt, updatedAt }) =>
        formatRunCursor({ runId, at: filter.since === undefined ? createdAt : updatedAt })
    },
    { limit, ...(cursor !== undefined && { cursor }) }
  )
}

/** A run as an item of a list. @param base what its link begins with */
export function toRunItem(run: RunSummary, base: string) {
  const { preview, stats } = run
  return {
    ...toRunRecord(run),
    ...(preview !== null && { preview }),
    ...stats,
    href: `${base}/runs/${run.runId}`
  }
}

/** Replies with the record of a run, and its result if it has one. */
export function sendRecord(
  { runs, replies }: Pick<Surface, 'runs' | 'replies'>,
  reply: FastifyReply,
  run: RunSummary
) {
  const result = runs.stores.runs.readResult(run.runId)
  return sendPieces(replies, reply, withMember(toRunRecord(run), 'result', result))
}

/** Encodes an object with one more property from `pieces`, unless these are empty. */
export async function* withMember(
  object: object,
  name: string,
  pieces: JsonPieces
): AsyncGenerator<string, void> {
  yield JSON.stringify(object).slice(0, -1)
  let before = `,${JSON.stringify(name)}:`
  for await (const piece of pieces) {
    yield before + piece
    before = ''
  }
  yield '}'
}

import { createPause, isPromise, nextTurn, type Awaitable } from '@svc/registry'
import type { FastifyReply } from 'fastify'
import { sendWhole } from './send-json.ts'

/** Bytes of the items of one page; an item that is larger is a page alone. */
const MAX_BYTES = 1_048_576

/** Pages of the source that one request may read; a page that is not full then still has a `nextCursor`. */
const MAX_READS = 20

/** Where the items of a page come from. */
export interface PageSource<T> {
  /** At most so many items after a cursor. */
  read(
    limit: number,
    cursor: string | undefined
  ): Awaitable<{ items: readonly T[]; nextCursor: string | null }>
  /** The JSON of an item; undefined for one that is not shown. */
  encode(item: T): Awaitable<string | undefined>
  /** The cursor of what comes after an item. */
  cursorOf(item: T): string
}

/** Which page of a list is wanted. */
export interface PageQuery {
  limit: number
  cursor?: string
}

/** A page of a list: the JSON of its items, and where the next page begins; null when there is none. */
export interface Page {
  items: string[]
  nextCursor: string | null
}

/** Answers with a page whose items stand in the member `name`. */
export function sendPage(reply: FastifyReply, name: string, { items, nextCursor }: Page) {
  return sendWhole(reply, `{"${name}":[${items.join()}],"nextCursor":${JSON.stringify(nextCursor)}}`)
}

/** Takes items until there are enough of them, or of their bytes. */
export async function collectPage<T>(source: PageSource<T>, { limit, cursor }: PageQuery): Promise<Page> {
  const items: string[] = []
  let bytes = 0
  let next: string | null | undefined = cursor
  for (let reads = 0; reads < MAX_READS && items.length < limit && next !== null; reads++) {
    await nextTurn()
    const pause = createPause()
    let taken: string | undefined = next
    const page = await source.read(limit - items.length, next)
    for (const item of page.items) {
      const encoding = source.encode(item)
      const json = isPromise(encoding) ? await encoding : encoding
      if (json !== undefined) {
        bytes += Buffer.byteLength(json)
        if (bytes > MAX_BYTES && items.length > 0) return { items, nextCursor: taken ?? null }
        items.push(json)
      }
      taken = source.cursorOf(item)
      await pause()
    }
    next = page.nextCursor
  }
  return { items, nextCursor: next ?? null }
}

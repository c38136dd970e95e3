import { createPause, isPromise, nextTurn, type Awaitable } from '@svc/contract'
import { sendWhole } from '@svc/surface'
import type { FastifyReply } from 'fastify'

/** Bytes of the items of one page; a larger item makes a page by itself. */
const MAX_BYTES = 1_048_576

/** Pages of the source that one request may read; after that even a short page has a `nextCursor`. */
const MAX_READS = 20

/** The source of a list. */
export interface PageSource<T> {
  /** Reads at most `limit` items after a cursor. */
  read(
    limit: number,
    cursor: string | undefined
  ): Awaitable<{ items: readonly T[]; nextCursor: string | null }>
  /** The JSON of an item, or undefined to leave it out. */
  encode(item: T): Awaitable<string | undefined>
  /** The cursor that continues after an item. */
  cursorOf(item: T): string
}

/** The requested page of a list. */
export interface PageQuery {
  limit: number
  cursor?: string
}

/** A page of a list: the JSON of its items, and the cursor of the next page; null on the last. */
export interface Page {
  items: string[]
  nextCursor: string | null
}

/** Replies with a page whose items are in the property `name`. */
export function sendPage(reply: FastifyReply, name: string, { items, nextCursor }: Page) {
  return sendWhole(reply, `{"${name}":[${items.join()}],"nextCursor":${JSON.stringify(nextCursor)}}`)
}

/** Collects items until the limit or the maximum of bytes is reached. */
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

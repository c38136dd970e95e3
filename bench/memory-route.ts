import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

/** What a server says of its memory, in bytes. */
export interface Memory {
  rss: number
  /** Of JavaScript, with the bytes of its buffers. */
  heap: number
}

/** What is collected before: all, also what finalizers let go; the young generation; or nothing. */
export type Collect = 'all' | 'minor' | 'none'

/** Adds a route that says how much memory the process uses. It needs `--expose-gc`. */
export function serveMemory(app: FastifyInstance): void {
  app.get('/memory/:collect', async ({ params }): Promise<Memory> => {
    const { collect } = params as { collect: Collect }
    if (collect === 'minor') await gc!({ type: 'minor', execution: 'async' })
    // The second time takes what the first one's finalizers let go.
    for (let times = collect === 'all' ? 2 : 0; times > 0; times--) {
      await gc!({ type: 'major', execution: 'async' })
      await wait(50)
    }
    const { rss, heapUsed, arrayBuffers } = process.memoryUsage()
    return { rss, heap: heapUsed + arrayBuffers }
  })
}

/** Asks a server for its memory. */
export async function memoryOf({ url }: { readonly url: string }, collect: Collect): Promise<Memory> {
  return (await (await fetch(`${url}/memory/${collect}`)).json()) as Memory
}

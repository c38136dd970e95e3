import type { Run } from '@svc/surface'
import type { FastifyReply } from 'fastify'
import type { Surface } from '../surface.ts'
import { watchClient } from './watch-client.ts'

/** Waits until a run ends or can no longer be followed here; false if that takes longer than `ms` or the client disconnects. */
export async function endsWithin(
  { replies }: Pick<Surface, 'replies'>,
  run: Run,
  reply: FastifyReply,
  ms: number
): Promise<boolean> {
  if (ms === 0) return false
  watchClient(replies, reply)
  const over = new AbortController()
  const stop = () => over.abort()
  const timer = setTimeout(stop, ms)
  reply.raw.once('close', stop)
  try {
    for await (const _ of run.parts(0, over.signal));
  } finally {
    clearTimeout(timer)
    reply.raw.off('close', stop)
  }
  return !over.signal.aborted
}

import { toLoggable, type RunBody } from '@svc/contract'
import type { OpenReplies, Run } from '@svc/surface'
import type { FastifyReply } from 'fastify'
import { HTTP_ERR_CLIENT_CLOSED } from '../errors.ts'
import type { Surface } from '../surface.ts'

/** Watches a reply until it completes; if the client disconnects first, cancels the run. */
export function watchClient(replies: OpenReplies, reply: FastifyReply, run?: Run): void {
  replies.add(reply.raw, () => leave(reply, run))
}

/** Cancels the run if the client disconnects, unless `onDisconnect` says otherwise or another request started it. */
export function tieToClient(
  { replies, onDisconnect }: Surface,
  run: Run,
  body: RunBody,
  reply: FastifyReply
): void {
  const cancels = (body.onDisconnect ?? onDisconnect) === 'cancel' && !run.replayed && !run.joined
  watchClient(replies, reply, cancels ? run : undefined)
}

function leave({ log }: FastifyReply, run: Run | undefined): void {
  const { code, message } = new HTTP_ERR_CLIENT_CLOSED()
  log.info({ code, ...(run && { runId: run.runId }) }, message)
  run?.cancel().catch((err: unknown) => {
    log.error({ err: toLoggable(err), runId: run.runId }, 'the run could not be canceled')
  })
}

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

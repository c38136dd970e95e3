import type { FastifyReply } from 'fastify'
import { toLoggable, type OnDisconnect } from '@svc/contract'
import type { Run } from '@svc/registry'
import type { OpenReplies } from '../sse/open-replies.ts'

/**
 * Tracks a reply that follows a run. If its client disconnects and `onDisconnect` is `cancel`, cancels the run, unless another request has
 * started it.
 */
export function tieToClient(
  replies: OpenReplies,
  reply: FastifyReply,
  run?: Pick<Run, 'runId' | 'replayed' | 'joined' | 'cancel'>,
  onDisconnect?: OnDisconnect
): void {
  const cancels = run !== undefined && onDisconnect === 'cancel' && !run.replayed && !run.joined
  replies.add(reply.raw, () => {
    reply.log.info(run && { runId: run.runId }, 'the client has disconnected')
    if (!cancels) return
    run.cancel().catch((err: unknown) => {
      reply.log.error({ err: toLoggable(err), runId: run.runId }, 'the run could not be canceled')
    })
  })
}

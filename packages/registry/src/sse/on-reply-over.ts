import type { ServerResponse } from 'node:http'

/** Calls back when a reply is over: `complete`, or broken off by its client. */
export function onReplyOver(reply: ServerResponse, listener: (complete: boolean) => void): void {
  let complete = false
  // `writableFinished` is false on the complete replies of `app.inject`, whose socket takes nothing.
  reply.once('finish', () => (complete = true))
  // `request.signal` aborts on every POST as soon as its body is read; the end of an unfinished reply is the true sign.
  reply.once('close', () => listener(complete))
}

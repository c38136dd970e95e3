import type { ServerResponse } from 'node:http'
import {
  createJsonStream,
  defined,
  encodePieces,
  isShort,
  toLoggable,
  within,
  type JsonPieces,
  type OnDisconnect,
  type RunLog
} from '@svc/contract'
import { PassingMap } from '@svc/contract/stores'
import { whileServing, type Run } from '@svc/registry'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** Characters of JSON that are sent in one piece. */
const MAX_WHOLE = 131_072
const JSON_TYPE = 'application/json; charset=utf-8'

/** Replies with a value of unknown size, between two texts; a large one is encoded as fast as the client reads. */
export function sendJson(
  replies: OpenReplies,
  reply: FastifyReply,
  value: unknown,
  before = '',
  after = ''
): FastifyReply {
  if (isShort(value, MAX_WHOLE)) return sendWhole(reply, before + JSON.stringify(value) + after)
  return sendStream(replies, reply, between(before, value, after))
}

/** Replies with encoded JSON, of the type that the reply has; default `application/json`. */
export function sendWhole(reply: FastifyReply, json: string): FastifyReply {
  return typed(reply).send(json)
}

/** Replies with JSON from its pieces: in one if it is short, else as fast as the client reads. */
export async function sendPieces(
  replies: OpenReplies,
  reply: FastifyReply,
  pieces: JsonPieces
): Promise<FastifyReply> {
  const rest = iterate(pieces)
  let text = ''
  while (text.length <= MAX_WHOLE) {
    const next = await rest.next()
    if (next.done === true) return sendWhole(reply, text)
    text += next.value
  }
  return sendStream(replies, reply, prepend(text, rest))
}

function sendStream(replies: OpenReplies, reply: FastifyReply, pieces: JsonPieces): FastifyReply {
  // Open until the client has read it or the app closes.
  replies.add(reply.raw)
  return typed(reply).send(createJsonStream(pieces))
}

// Fastify adds a charset to other types of JSON, unless they have a serializer.
function typed(reply: FastifyReply): FastifyReply {
  if (reply.hasHeader('content-type')) return reply.serializer(identity)
  return reply.header('content-type', JSON_TYPE)
}

const identity = (text: unknown) => text as string

function* between(before: string, value: unknown, after: string): Generator<string, void> {
  yield before
  yield* encodePieces(value)
  yield after
}

async function* iterate(pieces: JsonPieces): AsyncGenerator<string, void> {
  yield* pieces
}

async function* prepend(text: string, rest: AsyncIterable<string>): AsyncGenerator<string, void> {
  yield text
  yield* rest
}

/** Calls back when a reply ends: `complete`, or aborted by its client. */
export function onReplyOver(reply: ServerResponse, listener: (complete: boolean) => void): void {
  // `request.signal` aborts on every POST once its body is read. A complete reply has left its socket, except with `app.inject`, which has no
  // real one.
  reply.on('close', () => listener(reply.writableEnded && reply.socket?.destroyed !== true))
}

/** Milliseconds that a closing app gives replies to reach their clients, after the runs have ended. */
const GRACE = 1_000

/** Tracks replies that last as long as their run: detects disconnected clients, and ends the replies when the app closes. */
export class OpenReplies {
  readonly #open = new PassingMap<number, ServerResponse>()
  #added = 0
  #onEmpty: (() => void) | undefined

  /** Tracks a reply until it ends; calls `onLeave` if its client disconnects. */
  add(reply: ServerResponse, onLeave?: () => void): void {
    if (reply.destroyed) return onLeave?.()
    const place = this.#open.add(this.#added++, reply)
    onReplyOver(reply, (complete) => {
      this.#open.leave(place)
      if (!complete) onLeave?.()
      if (this.#open.size === 0) this.#onEmpty?.()
    })
  }

  /** Ends the replies when the app closes, once its runs have ended; replies that are not read are destroyed. */
  endWith(app: FastifyInstance): void {
    whileServing(app, async () => {
      await app.runs.close()
      await this.#untilEmpty()
    })
    // From here on no new replies start.
    app.addHook('preClose', async () => {
      await this.#untilEmpty()
      for (const reply of this.#open.values()) reply.destroy()
    })
  }

  async #untilEmpty(): Promise<void> {
    if (this.#open.size === 0) return
    await within(GRACE, new Promise<void>((resolve) => (this.#onEmpty = resolve)))
  }
}

/** What happens when the client of a run leaves: with `cancel` the run is canceled, unless another request has started it. */
export function onClientLeft(
  log: RunLog,
  run?: Pick<Run, 'runId' | 'replayed' | 'joined' | 'cancel'>,
  onDisconnect?: OnDisconnect
): () => void {
  const cancels = run !== undefined && onDisconnect === 'cancel' && !run.replayed && !run.joined
  return () => {
    log.info(defined({ runId: run?.runId }), 'the client has disconnected')
    if (!cancels) return
    run.cancel().catch((err: unknown) => {
      log.error({ err: toLoggable(err), runId: run.runId }, 'the run could not be canceled')
    })
  }
}

/**
 * Tracks a reply that follows a run. If its client disconnects and `onDisconnect` is `cancel`, cancels the run, unless another request has
 * started it.
 */
export function tieToClient(
  replies: OpenReplies,
  reply: FastifyReply,
  run?: Parameters<typeof onClientLeft>[1],
  onDisconnect?: OnDisconnect
): void {
  replies.add(reply.raw, onClientLeft(reply.log, run, onDisconnect))
}

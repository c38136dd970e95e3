import { createHash } from 'node:crypto'
import {
  isPromise,
  toLoggable,
  type Awaitable,
  type OnDisconnect,
  type RunBody,
  type Runnable,
  type RunnableKind,
  type RunSummary,
  type StartKey
} from '@svc/contract'
import { refuseEarly, requireExposed, toStartOptions, type OpenReplies, type Run } from '@svc/surface'
import type { FastifyReply, FastifyRequest, preParsingHookHandler } from 'fastify'
import { HTTP_ERR_BAD_IDEMPOTENCY_KEY, HTTP_ERR_CLIENT_CLOSED } from '../errors.ts'
import type { Surface } from '../surface.ts'
import type { UploadedFile } from '../uploads/uploads.ts'

/** A validated request for a run. */
export interface RunRequest extends Pick<
  FastifyRequest,
  'principal' | 'log' | 'headers' | 'routeOptions' | 'uploads'
> {
  readonly params: { name: string }
  readonly body: RunBody
}

/** The two halves of a route that starts runs. */
export interface Starter {
  /** Looks the runnable up before the body is read, and refuses a start that is over a limit. Throws HTTP_ERR_UNKNOWN_RUNNABLE, and the errors of limits. */
  readonly preParsing: preParsingHookHandler
  /**
   * Starts the requested run and sets `x-run-id`, or has its message join another run, with `x-run-joined: true`. A repeated `Idempotency-Key` gives the run of the first request, with
   * `idempotency-replayed: true`.
   * @param onDisconnect default: what the body says, else the surface's
   * @throws HTTP_ERR_FOREIGN_USER, HTTP_ERR_BAD_IDEMPOTENCY_KEY, RUN_ERR_CLIENT_INSTRUCTIONS, RUN_ERR_CLIENT_TOOLS, and the errors of `RunEngine.start`
   */
  start(request: RunRequest, reply: FastifyReply, onDisconnect?: OnDisconnect): Promise<Run>
}

/** Creates the starter of one kind's runs for one route. */
export function createStarter(surface: Surface, kind: RunnableKind): Starter {
  const found = new WeakMap<object, Runnable>()
  return {
    preParsing(request, reply, _payload, done) {
      const { name } = request.params as RunRequest['params']
      const refuse = (runnable: Runnable) => {
        found.set(request, runnable)
        return refuseStart(surface, runnable, request, reply)
      }
      try {
        const runnable = requireExposed(surface, kind, name)
        const refusing = isPromise(runnable) ? runnable.then(refuse) : refuse(runnable)
        const pass = () => done()
        if (isPromise(refusing)) refusing.then(pass, done)
        else done()
      } catch (err) {
        done(err as Error)
      }
    },
    start: (request, reply, onDisconnect = request.body.onDisconnect ?? surface.onDisconnect) =>
      startRun(surface, found.get(request)!, request, reply, onDisconnect)
  }
}

// Queued runs wait for the limits instead.
function refuseStart(
  { runs, exposed }: Surface,
  runnable: Runnable,
  request: FastifyRequest,
  reply: FastifyReply
): Awaitable<void> {
  if (runnable.queue === true) return
  const { principal, headers, params, routeOptions } = request
  const owner = principal.sub
  const isRepeated = (): Awaitable<boolean> => {
    const key = readKey(headers['idempotency-key'], routeOf(routeOptions, params as RunRequest['params']))
    if (key === undefined) return false
    const { registry } = exposed.startOptions(runnable)
    const started = runs.stores.runs.findStarted({ registry, owner, startKey: { key, hash: '' } })
    return isPromise(started) ? started.then(isFound) : isFound(started)
  }
  return refuseEarly({ runs, ownerOf: () => owner, isRepeated }, request, reply)
}

const isFound = (run: RunSummary | undefined) => run !== undefined

// Not the URL: one resource has many spellings.
function routeOf({ url }: RunRequest['routeOptions'], { name }: RunRequest['params']): string {
  return `${url} ${name}`
}

async function startRun(
  surface: Surface,
  runnable: Runnable,
  { params, body, principal, log, headers, routeOptions, uploads }: RunRequest,
  reply: FastifyReply,
  onDisconnect: OnDisconnect
): Promise<Run> {
  const options = toStartOptions(surface, runnable, { body, onDisconnect, principal, headers, log })
  const startKey = readStartKey(
    headers['idempotency-key'],
    routeOf(routeOptions, params),
    body,
    uploads?.files
  )
  const starting = surface.runs.start(runnable, body.input, { ...options, startKey })
  // The start may keep the files, and the run reads them while it works, even if the client has left.
  if (uploads !== undefined && uploads.files.length > 0)
    uploads.keepUntil(starting.then((started) => started.result()))
  const run = await starting
  reply.header('x-run-id', run.runId)
  if (run.joined) reply.header('x-run-joined', 'true')
  if (run.replayed) reply.header('idempotency-replayed', 'true')
  return run
}

/**
 * Builds the start key of a request with an `Idempotency-Key`: a hash of route and key, and a hash of the body without the
 * caller's provider key.
 * @throws HTTP_ERR_BAD_IDEMPOTENCY_KEY
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
 */
function readStartKey(
  key: string | string[] | undefined,
  route: string,
  body: RunBody,
  files: readonly UploadedFile[] = []
): StartKey | undefined {
  const read = readKey(key, route)
  return read === undefined ? undefined : { key: read, hash: hashBody(body, files) }
}

/** The same without the body, before it is read. @throws HTTP_ERR_BAD_IDEMPOTENCY_KEY */
function readKey(key: string | string[] | undefined, route: string): string | undefined {
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !/^[!-~]{1,255}$/.test(key)) throw new HTTP_ERR_BAD_IDEMPOTENCY_KEY()
  return createHash('sha256')
    .update(JSON.stringify([route, key]))
    .digest('base64url')
}

function hashBody({ apiKey: _, ...asked }: RunBody, files: readonly UploadedFile[]): string {
  const hash = createHash('sha256').update(JSON.stringify(asked))
  for (const { sha256 } of files) hash.update(sha256)
  return hash.digest('base64url')
}

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

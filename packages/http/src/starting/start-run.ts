import { createHash } from 'node:crypto'
import {
  codeOf,
  andThen,
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
import {
  completeHook,
  refuseEarly,
  requireExposed,
  toStartOptions,
  type EarlyRefusals,
  type HookAct,
  type OpenReplies,
  type Run
} from '@svc/surface'
import type { FastifyReply, FastifyRequest, preParsingHookHandler } from 'fastify'
import { HTTP_ERR_BAD_IDEMPOTENCY_KEY, HTTP_ERR_CLIENT_CLOSED } from '../errors.ts'
import type { Surface } from '../surface.ts'
import type { UploadedFile } from '../uploads/uploads.ts'

const FOUND = Symbol('runnable')

declare module 'fastify' {
  interface FastifyRequest {
    /** What the request runs, on routes that start runs; found before the body is read. */
    [FOUND]: Runnable
  }
}

/** A validated request for a run. */
export interface RunRequest extends Pick<
  FastifyRequest,
  'principal' | 'log' | 'headers' | 'routeOptions' | 'uploads' | typeof FOUND
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
  const refusals: EarlyRefusals = {
    runs: surface.runs,
    ownerOf: ({ principal }) => principal.sub,
    isRepeated: (request) => isRepeated(surface, request)
  }
  const find: HookAct = (request, reply) => {
    const { name } = request.params as RunRequest['params']
    const found = requireExposed(surface, kind, name)
    return isPromise(found) ? found.then((later) => take(later, request, reply)) : take(found, request, reply)
  }
  // Queued runs wait for the limits instead.
  const take = (runnable: Runnable, request: FastifyRequest, reply: FastifyReply): Awaitable<void> => {
    request[FOUND] = runnable
    return runnable.queue === true ? undefined : refuseEarly(refusals, request, reply)
  }
  return {
    preParsing: (request, reply, _payload, done) => completeHook(find, request, reply, done),
    start: (request, reply, onDisconnect = request.body.onDisconnect ?? surface.onDisconnect) =>
      startRun(surface, request, reply, onDisconnect)
  }
}

function isRepeated({ runs, exposed }: Surface, request: FastifyRequest): Awaitable<boolean> {
  const { principal, [FOUND]: runnable } = request
  const key = readKey(request as RunRequest)
  if (key === undefined) return false
  const { registry } = exposed.startOptions(runnable)
  const startKey = { key, hash: '' }
  const started = runs.stores.runs.findStarted({ registry, owner: principal.sub, startKey })
  return andThen(started, isFound)
}

const isFound = (run: RunSummary | undefined) => run !== undefined

async function startRun(
  surface: Surface,
  request: RunRequest,
  reply: FastifyReply,
  onDisconnect: OnDisconnect
): Promise<Run> {
  const { [FOUND]: runnable, body, principal, headers, log, uploads } = request
  const options = toStartOptions(surface, runnable, { body, onDisconnect, principal, headers, log })
  options.startKey = readStartKey(request)
  const starting = surface.runs.start(runnable, body.input, options)
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
function readStartKey(request: RunRequest): StartKey | undefined {
  const key = readKey(request)
  return key === undefined ? undefined : { key, hash: hashBody(request.body, request.uploads?.files) }
}

/** The same without the body, before it is read. @throws HTTP_ERR_BAD_IDEMPOTENCY_KEY */
function readKey(request: Pick<RunRequest, 'headers' | 'routeOptions' | 'params'>): string | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !/^[!-~]{1,255}$/.test(key)) throw new HTTP_ERR_BAD_IDEMPOTENCY_KEY()
  // Not the URL: one resource has many spellings.
  const route = `${request.routeOptions.url} ${request.params.name}`
  return createHash('sha256')
    .update(JSON.stringify([route, key]))
    .digest('base64url')
}

function hashBody({ apiKey: _, ...asked }: RunBody, files: readonly UploadedFile[] = []): string {
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
  } catch (err) {
    if (codeOf(err) !== 'RUN_ERR_LOG_GONE') throw err
    return false
  } finally {
    clearTimeout(timer)
    reply.raw.off('close', stop)
  }
  return !over.signal.aborted
}

import { createMcpHandler, type MissingRequiredClientCapabilityError } from '@modelcontextprotocol/server'
import { RUN_ERR_DRAINING, RUN_ERR_INPUT_NOT_FOUND } from '@svc/registry'
import { codeOf, requireAllowed, toLoggable } from '@svc/registry/kit'
import { onReplyOver } from '@svc/registry/sse'
import { answerInputs } from '@svc/registry/wire-kit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { toAnswer } from '../inputs/elicitation.ts'
import { inputOf } from '../inputs/request-inputs.ts'
import { capabilitiesIn, requireTasks } from '../server/caller.ts'
import { createServer } from '../server/create-server.ts'
import type { Surface } from '../surface.ts'
import { findRunnable } from '../tools/tool-name.ts'
import { createSessionId, elicitsInSession } from './client-session.ts'
import { HIDDEN } from './guard-origins.ts'
import { idOf, MESSAGE_ROUTE } from './message-schemas.ts'

/** The official handler knows web requests only; which host was asked matters to nothing behind it. */
const ANY_URL = 'http://localhost/'
/** With this status the official handler says that the exchange was closed before it had a response. */
const CLOSED = 499

interface Params {
  readonly name?: unknown
  readonly notifications?: { readonly taskIds?: unknown } | null
  readonly _meta?: unknown
}

interface Message {
  readonly method?: unknown
  readonly params?: Params
}

/** Adds the endpoint: Streamable HTTP of the revisions 2026-07-28 and 2025-11-25, without sessions. */
export function mcpRoutes(scope: FastifyInstance, surface: Surface, path: string): void {
  const { exposed } = surface
  const pass = createPass(scope, surface)
  const hidden = { schema: HIDDEN, exposeHeadRoute: false }
  scope.get(path, hidden, pass)
  scope.delete(path, hidden, pass)
  scope.post(path, { schema: MESSAGE_ROUTE }, async (request, reply) => {
    const { method, params } = request.body as Message
    if (method === undefined) {
      const answered = inputOf(request.body)
      if (answered !== undefined) {
        await answerInput(surface, request, answered)
        return reply.code(202).send()
      }
    }
    // Refused here, since a result of JSON-RPC has no challenge.
    if (method === 'tools/call' && typeof params?.name === 'string') {
      const runnable = findRunnable(exposed, params.name)
      if (runnable !== undefined)
        await requireAllowed(surface, request.caller, 'run', { kind: runnable.kind, name: runnable.name })
    }
    if (method === 'subscriptions/listen') {
      const missing = findMissingToListen(params)
      if (missing !== undefined)
        return reply.code(400).send({ jsonrpc: '2.0', id: idOf(request.body), error: missing })
    }
    if (method === 'initialize') reply.header('mcp-session-id', createSessionId(request.body))
    return pass(request, reply)
  })
}

/** Tasks are not reported to those who listen, but clients that do not know them must learn that they cannot ask for it. */
function findMissingToListen({ notifications, _meta: meta }: Params = {}) {
  if (notifications?.taskIds === undefined) return undefined
  try {
    requireTasks(capabilitiesIn(meta))
  } catch (err) {
    const { code, message, data } = err as MissingRequiredClientCapabilityError
    return { code, message, data }
  }
  return undefined
}

/** Passes requests to the official handler, until the app closes. */
function createPass(scope: FastifyInstance, surface: Surface) {
  const { settings, replies, exposed } = surface
  const asked = new WeakMap<Request, FastifyRequest>()
  const handler = createMcpHandler(
    ({ era, requestInfo }) => {
      const { caller: principal, headers, log } = asked.get(requestInfo!)!
      const isModern = era === 'modern'
      const elicits = elicitsInSession(headers['mcp-session-id'])
      return createServer(surface, { principal, headers, log, isModern, elicits })
    },
    {
      keepAliveMs: settings.heartbeat,
      maxRequestBodySize: settings.bodyLimit,
      onerror: (err) => scope.log.info({ err: toLoggable(err) }, 'a request of MCP was refused')
    }
  )
  const unwatch = exposed.onChange(() => {
    handler.notify.toolsChanged()
    handler.notify.promptsChanged()
  })
  let isClosed = false
  scope.addHook('preClose', async () => {
    isClosed = true
    unwatch?.()
    await handler.close()
  })

  return async (request: FastifyRequest, reply: FastifyReply) => {
    if (isClosed) throw new RUN_ERR_DRAINING()
    const left = new AbortController()
    const leave = () => left.abort()
    // A subscription lasts until the app closes, not until its runs have ended.
    if ((request.body as Message | undefined)?.method === 'subscriptions/listen')
      onReplyOver(reply.raw, leave)
    else replies.add(reply.raw, leave)
    const { method, body: parsedBody } = request
    const web = new Request(ANY_URL, { method, headers: toWebHeaders(request), signal: left.signal })
    asked.set(web, request)
    const response = await handler.fetch(web, parsedBody === undefined ? {} : { parsedBody })
    if (response.status === CLOSED && !left.signal.aborted) throw new RUN_ERR_DRAINING()
    return reply.send(response)
  }
}

async function answerInput(
  surface: Surface,
  { caller, log }: FastifyRequest,
  { inputId, result }: { inputId: string; result: unknown }
): Promise<void> {
  const found = await surface.runs.findInput(inputId)
  if (found === undefined) throw new RUN_ERR_INPUT_NOT_FOUND(inputId)
  const answer = toAnswer({ kind: found.input.kind, schema: found.input.schema }, result)
  if (answer === undefined) return
  try {
    await answerInputs(surface, caller, [{ inputId, answer }])
  } catch (err) {
    // The form is asked for once only: what does not fit counts as dismissed, so that the call does not hang.
    if (codeOf(err) !== 'RUN_ERR_BAD_INPUT') throw err
    log.info({ inputId }, 'the answer of an elicitation does not fit')
    await answerInputs(surface, caller, [{ inputId, answer: { action: 'cancel' } }])
  }
}

function toWebHeaders({ headers }: FastifyRequest): Headers {
  const web = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(':')) continue
    for (const each of Array.isArray(value) ? value : [value]) web.append(name, each)
  }
  return web
}

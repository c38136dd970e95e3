import { codeOf, RunBodySchema, RUNNABLE_KINDS, RunRecordSchema, RunResultSchema } from '@svc/contract'
import { sendJson, toRunRecord, jsonReply, type Run } from '@svc/surface'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { replyRunError } from '../errors/error-handler.ts'
import { describeOperation, errorReplies, RUN_ERRORS, RUN_ID } from '../openapi/describe-operation.ts'
import { createStarter, endsWithin, tieToClient } from '../starting/start-run.ts'
import { NameParamsSchema, RunHeadersSchema } from '../schemas/parameters.ts'
import type { HttpScope, Surface } from '../surface.ts'

const headers = {
  'x-run-id': RUN_ID,
  'x-run-joined': '`true` if the message has joined a run under way (`whenBusy: steer`)',
  'idempotency-replayed': '`true` if an earlier request started the run',
  'preference-applied': 'The preferences that the reply follows: `respond-async`, `wait=N`'
}
const location = 'The URL of the run'

/** `POST /agents/:name/run` and the other kinds: starts a run and replies with its result, or earlier with its record. */
export function runRoutes(scope: HttpScope, surface: Surface): void {
  for (const kind of RUNNABLE_KINDS) {
    const config = { access: { action: 'run', kind } } as const
    const schema = {
      ...describeOperation(
        `run-${kind}`,
        `Run ${kind === 'agent' ? 'an' : 'a'} ${kind} and wait for its end`
      ),
      params: NameParamsSchema,
      headers: RunHeadersSchema,
      body: RunBodySchema,
      response: {
        200: jsonReply('The result', RunResultSchema, headers),
        202: jsonReply('The run, with `Prefer: respond-async` or `wait=N`', RunRecordSchema, {
          ...headers,
          location
        }),
        ...errorReplies(...RUN_ERRORS, 499)
      }
    }
    const { preParsing, start } = createStarter(surface, kind)
    scope.post(`/${kind}s/:name/run`, { schema, config, preParsing }, async (request, reply) => {
      const patience = readPatience(request.headers.prefer)
      const run = await start(request, reply, patience && 'continue')
      if (patience === undefined) tieToClient(surface, run, request.body, reply)
      else {
        const inTime = await endsWithin(surface, run, reply, patience.ms)
        patience.apply(reply, inTime)
        if (!inTime) {
          reply.code(202).header('location', urlOf(run, surface, request))
          const record = toRunRecord((await surface.runs.find(run.runId))!)
          return run.joined ? { ...record, joined: true as const } : record
        }
      }
      try {
        return await sendJson(surface.replies, reply, await run.result())
      } catch (err) {
        if (codeOf(err) === 'RUN_ERR_SUSPENDED') reply.header('location', urlOf(run, surface, request))
        replyRunError(err, request, reply)
        return reply
      }
    })
  }
}

function urlOf({ runId }: Run, { baseOf }: Surface, request: FastifyRequest): string {
  return `${baseOf(request)}/runs/${runId}`
}

/** The longest time that a reply waits for its run, in seconds. */
const MAX_WAIT = 600

/** How long a client waits for the result of a run. */
export interface Patience {
  /** Milliseconds; 0: not at all. */
  readonly ms: number
  /** Sets `Preference-Applied`. @param inTime whether the run ended within the time */
  apply(reply: FastifyReply, inTime: boolean): void
}

/**
 * Reads the preferences `respond-async` and `wait`; undefined if the client waits for the end of the run. Of repeated preferences
 * the first counts; invalid ones are ignored, as the specification requires. More than 600 seconds count as 600.
 * @see https://www.rfc-editor.org/rfc/rfc7240#section-4
 */
function readPatience(prefer: string | string[] | undefined): Patience | undefined {
  if (prefer === undefined) return undefined
  const preferences = parse(String(prefer))
  const isAsync = preferences.has('respond-async')
  const asked = preferences.get('wait')
  const wait = asked !== undefined && /^\d+$/.test(asked) ? Math.min(Number(asked), MAX_WAIT) : undefined
  if (!isAsync && wait === undefined) return undefined
  return {
    ms: (wait ?? 0) * 1_000,
    apply(reply, inTime) {
      const applied = [
        ...(isAsync && !inTime ? ['respond-async'] : []),
        ...(wait === undefined ? [] : [`wait=${wait}`])
      ]
      reply.header('preference-applied', applied.join(', '))
    }
  }
}

// An unclosed quote extends to the end: neither expression backtracks, however long the header is.
const PREFERENCES = /(?:"(?:[^"\\]|\\.)*"?|[^",])+/g
const VALUE = /^=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s=;",]*))/

function parse(prefer: string): Map<string, string> {
  const preferences = new Map<string, string>()
  for (const [text] of prefer.matchAll(PREFERENCES)) {
    const preference = text.trimStart()
    const name = /^[^\s=;",]+/.exec(preference)?.[0].toLowerCase()
    if (name === undefined || preferences.has(name)) continue
    const [, quoted, word = ''] = VALUE.exec(preference.slice(name.length).trimStart()) ?? []
    preferences.set(name, quoted?.replaceAll(/\\(.)/g, '$1') ?? word)
  }
  return preferences
}

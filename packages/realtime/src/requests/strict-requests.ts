import type { TSchema } from '@sinclair/typebox'
import { decodeJson, logFault, toChallenge } from '@svc/surface'
import { findFaults, formatFaults } from '@svc/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { RT_ERR_BAD_JSON, RT_ERR_BAD_REQUEST } from '../errors.ts'
import { toClientError } from '../events/read-event.ts'
import type { RealtimeSettings } from '../options.ts'
import { errors } from '../surface-errors.ts'

/** Parses, validates and refuses the requests of a scope; nothing is coerced or dropped. */
export function requireStrict(scope: FastifyInstance, { limits }: Pick<RealtimeSettings, 'limits'>): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer', bodyLimit: limits.payload },
    async (_request: FastifyRequest, body: Buffer) => decodeJson(body, limits.jsonDepth, RT_ERR_BAD_JSON)
  )
  scope.setValidatorCompiler<TSchema>(({ schema, httpPart = '' }) => (value) => {
    const faults = findFaults(schema, value, { root: httpPart, unknown: 'unknown parameter' })
    return faults.length === 0 ? { value } : { error: new RT_ERR_BAD_REQUEST(formatFaults(faults)) }
  })
  scope.setSerializerCompiler(() => (value) => JSON.stringify(value))
  scope.setErrorHandler((err, request, reply) => refuse(err, request, reply))
}

function refuse(err: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { statusCode, ...error } = toClientError(toOwn(err))
  logFault(request.log, 'request', { code: error.code, statusCode }, err, request)
  const challenge = toChallenge(err, errors.challenges)
  if (challenge !== undefined) reply.header('www-authenticate', challenge)
  if (statusCode === 426) reply.header('upgrade', 'websocket')
  return reply.code(statusCode).send({ error })
}

// Errors of Fastify about a request, such as an unknown content type, are safe to show.
function toOwn(err: unknown): unknown {
  const {
    code,
    statusCode = 500,
    message
  } = (err ?? {}) as { code?: unknown; statusCode?: number; message?: string }
  const isOfFastify = typeof code === 'string' && code.startsWith('FST_ERR_') && statusCode < 500
  return isOfFastify ? Object.assign(new RT_ERR_BAD_REQUEST(message ?? ''), { statusCode }) : err
}

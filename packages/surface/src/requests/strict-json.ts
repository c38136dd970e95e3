import { isUtf8 } from 'node:buffer'
import { Type, type TSchema } from '@sinclair/typebox'
import { checkOf, findFaults, findJsonFault, formatFaults } from '@svc/contract'
import type { FastifyInstance, FastifyRequest, FastifySchemaCompiler, RouteOptions } from 'fastify'

/** An error class whose constructor takes the fault. */
export type FaultClass = new (fault: string) => Error

/**
 * Decodes untrusted UTF-8 JSON and rejects unsafe values: nested deeper than `maxDepth` levels, with keys that reach a prototype, or
 * with lone surrogates, which no text encoding can carry.
 * @throws the given error
 */
export function decodeJson(bytes: Buffer, maxDepth: number, BadJson: FaultClass): unknown {
  if (bytes.length === 0) throw new BadJson('the body is empty')
  if (!isUtf8(bytes)) throw new BadJson('it is not UTF-8')
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8', startsWithBom(bytes) ? 3 : 0))
  } catch {
    throw new BadJson('it cannot be parsed')
  }
  const fault = findJsonFault(value, maxDepth)
  if (fault !== undefined) throw new BadJson(fault)
  return value
}

// RFC 8259, section 8.1: a parser may ignore it.
function startsWithBom(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

/** The maximum length of an untrusted name in a message. */
const MAX_LENGTH = 64
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu

/** Quotes an untrusted name for a message: at most 64 characters, with `?` for unprintable ones. */
export function quoteName(name: unknown): string {
  return `"${String(name).slice(0, MAX_LENGTH).replace(UNPRINTABLE, '?')}"`
}

/** Which requests a wire takes. */
export interface StrictRules {
  /** The types of bodies; default `application/json`. */
  readonly mediaTypes?: readonly string[]
  /** True if a route takes an empty body; default: those without a schema of it. */
  readonly allowsEmpty?: (route: FastifyRequest['routeOptions']) => boolean
  /** Whether queries that a route does not have are ignored, as some clients add theirs to each request; default false. */
  readonly ignoresQueries?: boolean | ((route: RouteOptions) => boolean)
  /** Compiles the schemas of routes; default: as they are, with all faults in the text of one `BadRequest`. */
  readonly compile?: FastifySchemaCompiler<TSchema>
}

/** How the requests of a scope are read. */
export interface StrictRequests extends StrictRules {
  /** Bytes of a body. */
  readonly bodyLimit: number
  /** Levels of objects and lists in a body. */
  readonly jsonDepth: number
  readonly errors: {
    /** A body that is no JSON, or JSON that is not accepted: 400. */
    readonly BadJson: FaultClass
    /** A value that does not fit its schema: 400. */
    readonly BadRequest: FaultClass
    /** A body that is compressed or not UTF-8: 415. */
    readonly UnsupportedMedia: FaultClass
  }
}

const NO_QUERY = Type.Object({}, { additionalProperties: false })
const JSON_ONLY = ['application/json']
const hasNoBody = ({ schema }: FastifyRequest['routeOptions']) => schema?.body === undefined
const WITHOUT_BODY = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Parses and validates the requests of a scope by the TypeBox schemas of its routes: JSON only, nothing is coerced or dropped, except that
 * the integers of a query are read as numbers. Routes without a query refuse any, unless it is ignored.
 */
export function requireStrictJson(scope: FastifyInstance, strict: StrictRequests): void {
  const { bodyLimit, jsonDepth, mediaTypes = JSON_ONLY, errors } = strict
  const { ignoresQueries = false, allowsEmpty = hasNoBody, compile = createCompiler(errors) } = strict
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser<Buffer>(
    [...mediaTypes],
    { parseAs: 'buffer', bodyLimit },
    (request, body, done) => {
      // Clients send the content type of JSON with an empty body too.
      if (body.length === 0 && allowsEmpty(request.routeOptions)) return done(null, undefined)
      let value: unknown
      try {
        value = decodeJson(body, jsonDepth, errors.BadJson)
      } catch (err) {
        return done(err as Error)
      }
      return done(null, value)
    }
  )
  scope.setSerializerCompiler(() => JSON.stringify)
  scope.setValidatorCompiler<TSchema>(compile)
  scope.addHook('onRoute', (route) => {
    // The field is of @fastify/swagger, which only some of the packages have.
    const { hide } = (route.schema ?? {}) as { hide?: boolean }
    const ignores = typeof ignoresQueries === 'function' ? ignoresQueries(route) : ignoresQueries
    if (hide !== true && !ignores) route.schema = { querystring: NO_QUERY, ...route.schema }
  })
  scope.addHook('onRequest', (request, reply, done) => {
    const fault = WITHOUT_BODY.has(request.method) ? undefined : findEncodingFault(request.headers)
    if (fault === undefined) return done()
    reply.header('accept-encoding', 'identity')
    done(new errors.UnsupportedMedia(fault))
  })
}

function createCompiler({ BadRequest }: StrictRequests['errors']): FastifySchemaCompiler<TSchema> {
  return ({ schema, httpPart = '' }) => {
    const fits = checkOf(schema)
    const readIntegers = httpPart === 'querystring' ? createIntegerReader(schema) : undefined
    const root = httpPart === 'querystring' ? 'query' : httpPart
    return (value) => {
      readIntegers?.(value)
      if (fits(value)) return { value }
      const faults = findFaults(schema, value, { root, unknown: 'is not known' })
      return { error: Object.assign(new BadRequest(formatFaults(faults)), { errors: faults }) }
    }
  }
}

/** Why a body is not plain UTF-8, by its headers; undefined if it is. */
function findEncodingFault(headers: FastifyRequest['headers']): string | undefined {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (encoding !== '' && encoding !== 'identity') return 'it must not have a Content-Encoding'
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(headers['content-type'] ?? '')?.[1]
  return charset === undefined || /^utf-?8$/i.test(charset) ? undefined : 'it must be UTF-8'
}

/**
 * Creates a function that reads the integers of a query, which arrive as text, as numbers. Undefined if its schema has none. Canonical
 * decimals only: `0x10`, `1e2` and ` 5` stay text.
 */
export function createIntegerReader(schema: object): ((query: unknown) => void) | undefined {
  const { properties = {} } = schema as { properties?: Record<string, { type?: string }> }
  const names = Object.keys(properties).filter((name) => properties[name]?.type === 'integer')
  if (names.length === 0) return undefined
  return (query) => {
    const fields = query as Record<string, unknown>
    for (const name of names) {
      const text = fields[name]
      if (typeof text === 'string' && /^(?:0|-?[1-9]\d{0,14})$/.test(text)) fields[name] = Number(text)
    }
  }
}

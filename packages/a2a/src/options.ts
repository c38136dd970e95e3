import { Type, type Static } from '@sinclair/typebox'
import type { Registry, TaskStore } from '@svc/registry'
import {
  millisecondsSchema,
  namedRunnablesSchema,
  POLICY_OPTIONS,
  requireOptions,
  type Policy
} from '@svc/registry/kit'
import type { RegisterOptions } from 'fastify'
import { A2A_ERR_BAD_OPTION } from './errors.ts'
import type { AgentExtension } from './model/agent-card.ts'
import { requireHttpUrl, requireJson } from './option-checks.ts'
import type { DeliveryRules } from './push/deliver.ts'
import type { ExtendCard } from './service/surface.ts'
import { PROTOCOL_VERSIONS, ProtocolVersionSchema, type ProtocolVersion } from './wire/versions.ts'

const fn = Type.Function([], Type.Unknown())
const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))
const ms = (description: string) => Type.Optional(millisecondsSchema(description))

const PushSchema = Type.Object(
  {
    attempts: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Requests for one event at most; default 5' })
    ),
    backoff: ms('Milliseconds before the second attempt; doubles up to 30 s; default 1,000'),
    timeout: ms('Milliseconds for a receiver to answer; default 10,000'),
    allowPrivate: Type.Optional(
      Type.Boolean({ description: 'Allow private and loopback addresses; default false' })
    ),
    lookup: Type.Optional(fn)
  },
  { additionalProperties: false }
)

/** The URI of an extension; headers list them with commas. */
export const ExtensionUriSchema = Type.String({ pattern: '^[!-+\\--~]+$', maxLength: 2048 })

const ExtensionSchema = Type.Object(
  {
    uri: ExtensionUriSchema,
    description: Type.Optional(Type.String()),
    required: Type.Optional(Type.Boolean()),
    params: Type.Optional(Type.Record(Type.String(), Type.Unknown()))
  },
  { additionalProperties: false }
)

/** Options of the plugin. */
export const A2aOptionsSchema = Type.Object(
  {
    agents: Type.Optional(
      namedRunnablesSchema('Runnables to expose, as a list or by name; default: the agents of the registry')
    ),
    registry: Type.Optional(
      Type.Unsafe<Registry>(
        Type.Object(
          { get: fn, list: fn },
          { description: 'Registry whose agents are exposed; default `fastify.registry`' }
        )
      )
    ),
    basePath: Type.Optional(
      Type.String({
        pattern: '^/([\\w.~-]+(/[\\w.~-]+)*/?)?$',
        description: 'Path of the JSON-RPC endpoint; HTTP+JSON is below it; default `/`'
      })
    ),
    url: text('Public URL of the endpoint, for the card, behind a proxy'),
    name: text('Name on the card; default: that of the only agent, or `Agent service`'),
    description: text('On the card; default: the count and the names of the agents'),
    version: text('Version on the card; default `1.0.0`'),
    provider: Type.Optional(
      Type.Object(
        { organization: Type.String(), url: Type.Optional(Type.String()) },
        { additionalProperties: false, description: '`{ organization, url? }`, on the card' }
      )
    ),
    versions: Type.Optional(
      Type.Unsafe<readonly ProtocolVersion[]>(
        Type.Array(ProtocolVersionSchema, {
          minItems: 1,
          uniqueItems: true,
          description: 'Versions of the protocol to serve, `0.3` with 0.2.x; default both'
        })
      )
    ),
    ...POLICY_OPTIONS,
    tasks: Type.Optional(
      Type.Unsafe<TaskStore>(
        Type.Object({ create: fn, get: fn }, { description: 'A task store; default: that of the run engine' })
      )
    ),
    pushNotifications: Type.Optional(
      Type.Unsafe<boolean | DeliveryRules>(
        Type.Union([Type.Boolean(), PushSchema], {
          description:
            '`true`, or `{ attempts?, backoff?, timeout?, allowPrivate?, lookup? }`; default `false`'
        })
      )
    ),
    extendedCard: Type.Optional(
      Type.Unsafe<ExtendCard>({
        ...fn,
        description: '`(card, principal) => card`: the card for authenticated callers'
      })
    ),
    extensions: Type.Optional(
      Type.Unsafe<readonly AgentExtension[]>(
        Type.Array(ExtensionSchema, {
          description:
            'Extensions of the protocol, on the card: `{ uri, description?, required?, params? }`; messages must name required ones'
        })
      )
    ),
    limits: Type.Optional(
      Type.Object(
        {
          bodyLimit: Type.Optional(
            Type.Integer({ minimum: 1, description: 'Bytes of a request body; default 1,048,576' })
          ),
          jsonDepth: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 1000,
              description: 'Levels of nesting of a request body; default 64'
            })
          )
        },
        { additionalProperties: false, description: '`{ bodyLimit?, jsonDepth? }`' }
      )
    ),
    heartbeat: ms('Milliseconds between comments on a silent event stream; default 15,000')
  },
  { additionalProperties: false }
)
export type A2aOptions = Static<typeof A2aOptionsSchema>

/** Validates the options and fills in the defaults. @throws A2A_ERR_BAD_OPTION */
export function resolveOptions(given: A2aOptions & RegisterOptions) {
  const { prefix = '', logLevel, logSerializers, ...options } = given
  requireOptions(A2aOptionsSchema, options, A2A_ERR_BAD_OPTION)
  if (options.url !== undefined) requireHttpUrl('url', options.url)
  requireJson('extensions', options.extensions)
  const { pushNotifications: push = false, basePath = '/', limits } = options
  const registerOptions: RegisterOptions = {
    ...(logLevel !== undefined && { logLevel }),
    ...(logSerializers !== undefined && { logSerializers })
  }
  return {
    ...options,
    basePath: `${prefix}${basePath}`.replace(/\/+$/, ''),
    versions: options.versions ?? PROTOCOL_VERSIONS,
    push: push === true ? {} : push,
    bodyLimit: limits?.bodyLimit ?? 1_048_576,
    jsonDepth: limits?.jsonDepth ?? 64,
    extensions: options.extensions ?? [],
    heartbeat: options.heartbeat ?? 15_000,
    registerOptions
  }
}

/** Makes sure that an own `authorize` knows who calls, and that a card can have the schemes. @throws A2A_ERR_BAD_OPTION */
export function requireCaller({ authorize }: Pick<A2aOptions, 'authorize'>, { authenticate }: Policy): void {
  if (authorize && authenticate === undefined)
    throw new A2A_ERR_BAD_OPTION('authorize: it needs authenticate, to know the caller')
  requireJson('authenticate/schemes', authenticate?.schemes)
}

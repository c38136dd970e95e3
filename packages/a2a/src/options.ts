import { Type } from '@sinclair/typebox'
import {
  defined,
  functionSchema,
  MAX_TIMER,
  MediaRangeSchema,
  optionsSchema,
  requireOptions,
  type Authenticate,
  type Authorize,
  type ReplyKind,
  type SecuritySchemes,
  type TaskStore
} from '@svc/contract'
import {
  DEFAULT_PROVIDER_KEY_HEADERS,
  namedRunnablesSchema,
  POLICY_OPTIONS,
  SHARED_OPTIONS,
  splitRegisterOptions,
  type Lookup,
  type NamedRunnables,
  type Policy,
  type Registry
} from '@svc/surface'
import type { RegisterOptions } from 'fastify'
import type { GrpcBinding } from './bindings/grpc-binding.ts'
import { A2A_ERR_BAD_OPTION } from './errors.ts'
import type {
  AgentExtension,
  AgentInterface,
  AgentProvider,
  Binding,
  GivenRequirement
} from './model/agent-card.ts'
import {
  requireCardUrls,
  requireHttpUrl,
  requireInterfaces,
  requireJson,
  requireSchemes
} from './option-checks.ts'
import type { DeliveryRules } from './push/deliver.ts'
import { MAX_INLINE } from './tasks/artifacts.ts'
import type { ExtendCard } from './service/surface.ts'
import type { SignCard } from './signatures/card-signer.ts'
import { SignCardSchema } from './signatures/signed-card.ts'
import { PROTOCOL_VERSIONS, ProtocolVersionSchema, type ProtocolVersion } from './wire/versions.ts'

/** Limits of request bodies. */
export interface A2aLimits {
  /** Bytes of a request body; default that of `@svc/registry`, else 1,048,576. */
  bodyLimit?: number
  /** Levels of nesting of a request body; default that of `@svc/registry`, else 64. */
  jsonDepth?: number
}

/** Options of the plugin. */
export interface A2aOptions {
  /** Runnables to expose, as a list or by name; default: the agents of the registry. */
  agents?: NamedRunnables
  /** Registry whose agents are exposed; default `fastify.registry`. */
  registry?: Registry
  /** Path of the JSON-RPC endpoint; HTTP+JSON is below it; default `/`. */
  basePath?: string
  /** Path of the agents' own endpoints, below `basePath` and before the name; default `/agents`. */
  agentPath?: string
  /** Public URL of the endpoint, for the card, behind a proxy. */
  url?: string
  /** Name on the card; default: that of the only agent, or `Agent service`. */
  name?: string
  /** Description on the card; default: the count and the names of the agents. */
  description?: string
  /** Version on the card; default `1.0.0`. */
  version?: string
  /** Organization on the card. */
  provider?: AgentProvider
  /** URL of the documentation, on the card; default: that of the only agent. */
  documentationUrl?: string
  /** URL of an icon, on the card; default: that of the only agent. */
  iconUrl?: string
  /** The credentials that suffice, on the card: any of these, each naming schemes with their scopes; default: any one scheme. */
  security?: readonly GivenRequirement[]
  /** The binding that the card shows first; default `JSONRPC`. */
  preferredBinding?: Binding
  /** Interfaces that something else serves, on the card. */
  additionalInterfaces?: readonly AgentInterface[]
  /** Media types of messages, with wildcards such as `image/*`; agents may have their own; default `text/plain` and `application/json`. */
  defaultInputModes?: readonly string[]
  /** Media types of answers; agents may have their own; default `text/plain` and `application/json`. */
  defaultOutputModes?: readonly string[]
  /** Versions of the protocol to serve, `0.3` with 0.2.x; default both. */
  versions?: readonly ProtocolVersion[]
  /** Credentials → principal; `false`: everyone is anonymous; default that of `@svc/registry`. */
  authenticate?: Authenticate | false
  /** Who may do what to which runnable; `false`: everyone may do everything; default that of `@svc/registry`. */
  authorize?: Authorize | false
  /** Header, in lower case → the provider of the key in it; `x-api-key` always works. */
  providerKeyHeaders?: Record<string, string>
  /** A task store; default: that of the run engine. */
  tasks?: TaskStore
  /**
   * Milliseconds in which a message that a caller repeats, with its `messageId`, is the same message, and longer while its task is under way;
   * default 60,000, and 0: every message is new. Those of anonymous callers always are.
   */
  dedupeWindow?: number
  /**
   * How agents reply that do not say so themselves: with a task, or with a message alone where the run completes without a question; default
   * `task`.
   */
  reply?: ReplyKind
  /** Milliseconds until an agent that replies with messages replies with a task, whose run takes longer; default 10,000. */
  replyTimeout?: number
  /**
   * Bytes up to which a file of a run is in its part, at most 8,388,608 of one reply; larger files are referred to by their URL. Default 0: all
   * are.
   */
  inlineFiles?: number
  /** Makes the result of each tool call an artifact, for clients to see; default `false`. */
  exposeToolResults?: boolean
  /** Sends push notifications: `true` or the rules of their delivery; default `false`. */
  pushNotifications?: boolean | DeliveryRules
  /** `(card, principal) => card`: the card for authenticated callers; needs `authenticate`. */
  extendedCard?: ExtendCard
  /** Signs every card: a key, several keys, or a function for keys that are kept elsewhere; needs `url`. */
  signCard?: SignCard
  /** Extensions of the protocol, on the card; messages must name required ones. */
  extensions?: readonly AgentExtension[]
  /** Limits of request bodies. */
  limits?: A2aLimits
  /** Milliseconds between comments on a silent event stream; default that of `@svc/registry`, else 10,000. */
  heartbeat?: number
  /** Serves gRPC too, on a port of its own: `grpcBinding()` of `@svc/a2a/grpc`. */
  grpc?: GrpcBinding
}

const fn = Type.Function([], Type.Unknown())
const text = Type.String({ minLength: 1 })
const modes = Type.Array(MediaRangeSchema, { minItems: 1, uniqueItems: true })
const milliseconds = Type.Integer({ minimum: 1, maximum: MAX_TIMER })

const PushSchema = optionsSchema<DeliveryRules>({
  attempts: Type.Integer({ minimum: 1 }),
  backoff: milliseconds,
  timeout: milliseconds,
  allowPrivate: Type.Boolean(),
  lookup: functionSchema<Lookup>()
})

/** The URI of an extension; headers list them with commas. */
export const ExtensionUriSchema = Type.String({ pattern: '^[!-+\\--~]+$', maxLength: 2048 })

export const ExtensionsSchema = Type.Array(
  Type.Object(
    {
      uri: ExtensionUriSchema,
      description: Type.Optional(Type.String()),
      required: Type.Optional(Type.Boolean()),
      params: Type.Optional(Type.Record(Type.String(), Type.Unknown()))
    },
    { additionalProperties: false }
  )
)

/** The options that a card shows as they are. */
export const CARD_FIELDS = {
  name: text,
  description: text,
  version: text,
  provider: Type.Object(
    { organization: Type.String(), url: Type.Optional(Type.String()) },
    { additionalProperties: false }
  ),
  documentationUrl: text,
  iconUrl: text,
  security: Type.Array(Type.Record(Type.String(), Type.Array(Type.String()))),
  preferredBinding: Type.Union([Type.Literal('JSONRPC'), Type.Literal('HTTP+JSON'), Type.Literal('GRPC')]),
  additionalInterfaces: Type.Array(
    Type.Object(
      { url: text, protocolBinding: text, protocolVersion: Type.String({ pattern: String.raw`^\d+\.\d+$` }) },
      { additionalProperties: false }
    )
  ),
  defaultInputModes: modes,
  defaultOutputModes: modes,
  versions: Type.Array(ProtocolVersionSchema, { minItems: 1, uniqueItems: true })
}

export const A2aOptionsSchema = optionsSchema<A2aOptions>({
  agents: namedRunnablesSchema(
    'Runnables to expose, as a list or by name; default: the agents of the registry'
  ),
  registry: Type.Unsafe<Registry>(Type.Object({ get: fn, list: fn })),
  basePath: Type.String({ pattern: '^/([\\w.~-]+(/[\\w.~-]+)*/?)?$' }),
  agentPath: Type.String({ pattern: '^(/[\\w.~-]+)+$' }),
  url: text,
  ...CARD_FIELDS,
  ...POLICY_OPTIONS,
  providerKeyHeaders: Type.Record(Type.String({ pattern: '^[a-z0-9-]+$' }), text, {
    additionalProperties: false
  }),
  tasks: Type.Unsafe<TaskStore>(Type.Object({ create: fn, get: fn })),
  dedupeWindow: Type.Integer({ minimum: 0, maximum: MAX_TIMER }),
  reply: Type.Union([Type.Literal('task'), Type.Literal('message')]),
  replyTimeout: milliseconds,
  inlineFiles: Type.Integer({ minimum: 0, maximum: MAX_INLINE }),
  exposeToolResults: Type.Boolean(),
  pushNotifications: Type.Union([Type.Boolean(), PushSchema]),
  extendedCard: functionSchema<ExtendCard>(),
  signCard: SignCardSchema,
  extensions: ExtensionsSchema,
  limits: optionsSchema<A2aLimits>({
    bodyLimit: Type.Integer({ minimum: 1 }),
    jsonDepth: SHARED_OPTIONS.jsonDepth
  }),
  heartbeat: SHARED_OPTIONS.heartbeat,
  grpc: Type.Unsafe<GrpcBinding>(Type.Object({ listen: fn }))
})

const NO_EXTENSIONS: readonly AgentExtension[] = Object.freeze([])
const DEFAULTS = Object.freeze({
  basePath: '/',
  agentPath: '/agents',
  versions: PROTOCOL_VERSIONS,
  extensions: NO_EXTENSIONS,
  providerKeyHeaders: DEFAULT_PROVIDER_KEY_HEADERS,
  dedupeWindow: 60_000,
  reply: 'task',
  replyTimeout: 10_000,
  inlineFiles: 0,
  exposeToolResults: false
})

/** Validates the options and fills in the defaults. @throws A2A_ERR_BAD_OPTION */
export function resolveOptions(given: A2aOptions & RegisterOptions) {
  const { options, registerOptions: own } = splitRegisterOptions<A2aOptions>(given)
  const { prefix = '', ...others } = own
  // The prefix is part of the path.
  const registerOptions: RegisterOptions = others
  requireOptions(A2aOptionsSchema, options, A2A_ERR_BAD_OPTION)
  if (options.url !== undefined) requireHttpUrl('url', options.url)
  if (options.signCard !== undefined && options.url === undefined)
    throw new A2A_ERR_BAD_OPTION('signCard: it needs url, or requests would name the host that is signed')
  requireCardUrls(options)
  requireInterfaces(options.additionalInterfaces)
  if (options.preferredBinding === 'GRPC' && options.grpc === undefined)
    throw new A2A_ERR_BAD_OPTION('preferredBinding: GRPC needs the option grpc')
  requireJson('extensions', options.extensions)
  const { pushNotifications: push = false, basePath = DEFAULTS.basePath, limits } = options
  return {
    ...DEFAULTS,
    ...defined(options),
    basePath: `${prefix}${basePath}`.replace(/\/+$/, ''),
    push: push === true ? {} : push,
    ...defined({ bodyLimit: limits?.bodyLimit, jsonDepth: limits?.jsonDepth }),
    registerOptions
  }
}
export type A2aSettings = ReturnType<typeof resolveOptions>

/** Makes sure that an own `authorize` and `extendedCard` know who calls, and that a card can have the schemes. @throws A2A_ERR_BAD_OPTION */
export function requireCaller(
  { authorize, extendedCard, security }: Pick<A2aOptions, 'authorize' | 'extendedCard' | 'security'>,
  { authenticate }: Policy
): void {
  if (authorize && authenticate === undefined)
    throw new A2A_ERR_BAD_OPTION('authorize: it needs authenticate, to know the caller')
  if (extendedCard !== undefined && authenticate === undefined)
    throw new A2A_ERR_BAD_OPTION('extendedCard: it needs authenticate, to know the caller')
  requireJson('authenticate/schemes', authenticate?.schemes)
  const schemes = Object.values(authenticate?.schemes ?? {})
  if (schemes.length > 0 && schemes.every(isCookie))
    throw new A2A_ERR_BAD_OPTION('authenticate: it reads a cookie, which A2A ignores: give A2A its own')
  requireSchemes(security, authenticate?.schemes)
}

/** The schemes that a card lists: those of cookies are of no use to agents, whose cookies are ignored. */
export function cardSchemes(schemes: SecuritySchemes | undefined): SecuritySchemes | undefined {
  return schemes && Object.fromEntries(Object.entries(schemes).filter(([, scheme]) => !isCookie(scheme)))
}

const isCookie = ({ in: place }: SecuritySchemes[string]) => place === 'cookie'

import { Type } from '@sinclair/typebox'
import {
  functionSchema,
  MAX_TIMER,
  optionsSchema,
  RunnableCardSchema,
  type RunnableCard
} from '@svc/contract'
import { ExtensionUriSchema } from '../options.ts'
import type { RemoteTransport } from './connection/transport.ts'
import type { VerifyCard } from '../signatures/card-verifier.ts'
import { VerifyCardSchema } from '../signatures/signed-card.ts'
import { ProtocolVersionSchema, type ProtocolVersion } from '../wire/versions.ts'

type HeadersOf = Readonly<Record<string, string>>
type Dynamic<T> = T | (() => T | Promise<T>)

/** Options of a remote agent. */
export interface RemoteAgentOptions {
  /** URL of the service or of its card; of the endpoint if `version` is given. */
  url: string
  /** Name of the runnable; default: the host of the URL. */
  name?: string
  /** Description of the runnable. */
  description?: string
  /** What agent cards say of the runnable. */
  card?: RunnableCard
  /** Agent of the service, if it has several: `metadata.agentName`. */
  agentName?: string
  /** Sent with every request; a function is called each time. */
  headers?: Dynamic<HeadersOf>
  /** Sent as `Authorization: Bearer …`; a function is called each time. */
  token?: Dynamic<string> | undefined
  /** Version of the endpoint; if given, no card is read. Default: that of the first interface on the card that can be used. */
  version?: ProtocolVersion
  /** Binding to use: `JSONRPC`, `HTTP+JSON` or one of `transports`; default: as the card prefers, with `version` `JSONRPC`. */
  binding?: string
  /** Transports of other bindings, such as `grpcTransport()`. */
  transports?: readonly RemoteTransport[]
  /** Verifies the signatures of the card: with keys, or by a function; a card that fails is not used. */
  verify?: VerifyCard
  /** URIs of extensions to use, sent with every request. */
  extensions?: readonly string[]
  /** Milliseconds for the service to begin its answer; default 30,000. */
  timeout?: number
  /** Milliseconds between two chunks of an answer; default 120,000. */
  idleTimeout?: number
  /** Milliseconds of a task in all; default 86,400,000, a day. */
  taskTimeout?: number
  /** Bytes of one answer, or one event of a stream; a task may have 16 times as many; default 16,777,216. */
  maxBytes?: number
}

const text = Type.String({ minLength: 1 })
const milliseconds = Type.Integer({ minimum: 1, maximum: MAX_TIMER })

const { properties: optional } = optionsSchema<Omit<RemoteAgentOptions, 'url'>>({
  name: text,
  description: text,
  card: RunnableCardSchema,
  agentName: text,
  headers: Type.Union([Type.Record(Type.String(), Type.String()), functionSchema<() => HeadersOf>()]),
  token: Type.Union([Type.String(), functionSchema<() => string>()]),
  version: ProtocolVersionSchema,
  binding: text,
  transports: Type.Array(
    Type.Unsafe<RemoteTransport>(
      Type.Object({
        binding: text,
        form: Type.Union([Type.Literal('rpc'), Type.Literal('rest')]),
        call: functionSchema(),
        stream: functionSchema()
      })
    )
  ),
  verify: VerifyCardSchema,
  extensions: Type.Array(ExtensionUriSchema),
  timeout: milliseconds,
  idleTimeout: milliseconds,
  taskTimeout: milliseconds,
  maxBytes: Type.Integer({ minimum: 1 })
})

export const RemoteAgentOptionsSchema = Type.Object(
  { url: Type.String(), ...optional },
  { additionalProperties: false }
)

/** The default bounds of a connection. */
export const REMOTE_DEFAULTS = Object.freeze({
  timeout: 30_000,
  idleTimeout: 120_000,
  taskTimeout: 86_400_000,
  maxBytes: 16_777_216
})

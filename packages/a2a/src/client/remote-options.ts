import { Type, type Static } from '@sinclair/typebox'
import { millisecondsSchema } from '@svc/registry'
import { ProtocolVersionSchema, type ProtocolVersion } from '../wire/versions.ts'
import { ExtensionUriSchema } from '../options.ts'

type HeadersOf = Readonly<Record<string, string>>
type Asked<T> = T | (() => T | Promise<T>)

const fn = Type.Function([], Type.Unknown())
const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))

/** Where a remote agent is, and how it is spoken to. */
export const RemoteAgentOptionsSchema = Type.Object(
  {
    url: Type.String({
      description: 'Of the service or of its card; the endpoint itself where `version` is given'
    }),
    name: text('Under which it is known here; default: the host of the URL'),
    description: text('What it is for'),
    agentName: text('Which agent of the service is meant, where it has several: `metadata.agentName`'),
    headers: Type.Optional(
      Type.Unsafe<Asked<HeadersOf>>(
        Type.Union([Type.Record(Type.String(), Type.String()), fn], {
          description: 'Sent with every request; a function is asked each time'
        })
      )
    ),
    token: Type.Optional(
      Type.Unsafe<Asked<string> | undefined>(
        Type.Union([Type.String(), fn], {
          description: 'Sent as `Authorization: Bearer …`; a function is asked each time'
        })
      )
    ),
    version: Type.Optional(
      Type.Unsafe<ProtocolVersion>(
        Type.Union(ProtocolVersionSchema.anyOf, {
          description: 'Default: what the card says, the newest first. Given, no card is read'
        })
      )
    ),
    extensions: Type.Optional(
      Type.Unsafe<readonly string[]>(
        Type.Array(ExtensionUriSchema, {
          description: 'URIs of extensions of the protocol to use, sent with every request'
        })
      )
    ),
    timeout: Type.Optional(
      millisecondsSchema('Milliseconds that the service has to begin its answer; default 30,000')
    ),
    idleTimeout: Type.Optional(
      millisecondsSchema('Milliseconds in which something has to come of an answer; default 120,000')
    ),
    taskTimeout: Type.Optional(
      millisecondsSchema('Milliseconds that a task may take in all; default 86,400,000, a day')
    ),
    maxBytes: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'Of one answer, or one event of a stream; of a task 16 times as many; default 16,777,216'
      })
    )
  },
  { additionalProperties: false }
)
export type RemoteAgentOptions = Static<typeof RemoteAgentOptionsSchema>

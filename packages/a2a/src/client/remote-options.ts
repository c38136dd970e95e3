import { Type, type Static } from '@sinclair/typebox'
import { millisecondsSchema } from '@svc/registry/kit'
import { ExtensionUriSchema } from '../options.ts'
import { ProtocolVersionSchema, type ProtocolVersion } from '../wire/versions.ts'

type HeadersOf = Readonly<Record<string, string>>
type Dynamic<T> = T | (() => T | Promise<T>)

const fn = Type.Function([], Type.Unknown())
const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))

export const RemoteAgentOptionsSchema = Type.Object(
  {
    url: Type.String({
      description: 'URL of the service or of its card; of the endpoint if `version` is given'
    }),
    name: text('Name of the runnable; default: the host of the URL'),
    description: text('Description of the runnable'),
    agentName: text('Agent of the service, if it has several: `metadata.agentName`'),
    headers: Type.Optional(
      Type.Unsafe<Dynamic<HeadersOf>>(
        Type.Union([Type.Record(Type.String(), Type.String()), fn], {
          description: 'Sent with every request; a function is called each time'
        })
      )
    ),
    token: Type.Optional(
      Type.Unsafe<Dynamic<string> | undefined>(
        Type.Union([Type.String(), fn], {
          description: 'Sent as `Authorization: Bearer …`; a function is called each time'
        })
      )
    ),
    version: Type.Optional(
      Type.Unsafe<ProtocolVersion>(
        Type.Union(ProtocolVersionSchema.anyOf, {
          description: 'Default: the newest version on the card. If given, no card is read'
        })
      )
    ),
    extensions: Type.Optional(
      Type.Unsafe<readonly string[]>(
        Type.Array(ExtensionUriSchema, {
          description: 'URIs of extensions to use, sent with every request'
        })
      )
    ),
    timeout: Type.Optional(
      millisecondsSchema('Milliseconds for the service to begin its answer; default 30,000')
    ),
    idleTimeout: Type.Optional(
      millisecondsSchema('Milliseconds between two chunks of an answer; default 120,000')
    ),
    taskTimeout: Type.Optional(
      millisecondsSchema('Milliseconds of a task in all; default 86,400,000, a day')
    ),
    maxBytes: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          'Bytes of one answer, or one event of a stream; a task may have 16 times as many; default 16,777,216'
      })
    )
  },
  { additionalProperties: false }
)
export type RemoteAgentOptions = Static<typeof RemoteAgentOptionsSchema>

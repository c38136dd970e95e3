import type { TSchema } from '@sinclair/typebox'
import { defined, RUNNABLE_KINDS, type SecuritySchemes } from '@svc/contract'
import { RefusalSchema } from '../events/acknowledgements.ts'
import { ACKNOWLEDGEMENTS, CLIENT_EVENTS } from '../events/client-events.ts'
import {
  ErrorEventSchema,
  RUN_EVENTS,
  SessionSuspendedEventSchema,
  SuspendedEventSchema
} from '../events/server-events.ts'
import { VOICE_EVENTS, VoiceDoneEventSchema, VoiceErrorEventSchema } from '../events/voice-events.ts'
import { resolveLimits, type GatewayOptions } from '../options.ts'
import { resolveAsyncApi, type AsyncApiOptions } from './async-api-options.ts'

/** A document of AsyncAPI 3.0. @see https://www.asyncapi.com/docs/reference/specification/v3.0.0 */
export interface AsyncApiDocument {
  asyncapi: '3.0.0'
  info: { title: string; version: string; description?: string }
  defaultContentType: string
  channels: Record<string, { address: string; description: string; messages: Record<string, Ref> }>
  operations: Record<string, object>
  components: {
    messages: Record<string, { name: string; title: string; payload: object }>
    schemas: Record<string, object>
    securitySchemes?: Record<string, object>
  }
}

interface Ref {
  $ref: string
}

const CHANNEL = 'gateway'
const refTo = (...path: string[]): Ref => ({ $ref: `#/${path.join('/')}` })

/**
 * Generates the AsyncAPI document of the plugin's events with these options: clients emit the operations that it
 * `receive`s, and listen to those that it `send`s.
 * @throws GTW_ERR_BAD_OPTION
 */
export function generateAsyncApi(
  options: Pick<GatewayOptions, 'namespace' | 'authenticate' | 'limits' | 'asyncApi'> = {},
  asyncApi: AsyncApiOptions = typeof options.asyncApi === 'object' ? options.asyncApi : {}
): AsyncApiDocument {
  const { title, version, description } = resolveAsyncApi(asyncApi)!
  const parts = new Parts()
  for (const [event, schema] of Object.entries(CLIENT_EVENTS)) {
    const answer = ACKNOWLEDGEMENTS[event as keyof typeof ACKNOWLEDGEMENTS]
    parts.receive(event, schema, answer)
  }
  for (const kind of RUNNABLE_KINDS)
    for (const [event, schema] of Object.entries(RUN_EVENTS)) parts.send(`${kind}.${event}`, schema)
  for (const [event, schema] of Object.entries(VOICE_EVENTS)) parts.send(`voice.${event}`, schema)
  parts.send('voice.error', VoiceErrorEventSchema)
  parts.send('voice.done', VoiceDoneEventSchema)
  parts.send('run.suspended', SuspendedEventSchema)
  parts.send('session.suspended', SessionSuspendedEventSchema)
  parts.send('gateway.error', ErrorEventSchema)

  const schemes = toSecuritySchemes(options.authenticate ? options.authenticate.schemes : undefined)
  return {
    asyncapi: '3.0.0',
    info: { title, version, ...(description !== undefined && { description }) },
    defaultContentType: 'application/json',
    channels: {
      [CHANNEL]: {
        address: options.namespace ?? '/',
        description: `The namespace of the Socket.IO server. ${describeLimits(options.limits)}`,
        messages: parts.channelMessages
      }
    },
    operations: parts.operations,
    components: { messages: parts.messages, schemas: parts.schemas, ...defined({ securitySchemes: schemes }) }
  }
}

function describeLimits(limits: GatewayOptions['limits']): string {
  const { payload, eventsPerSecond } = resolveLimits(limits)
  const [bytes, packets] = [payload, eventsPerSecond].map((limit) => limit.toLocaleString('en'))
  return (
    `A message of more than ${bytes} bytes, and more than ${packets} packets a second, are answered with an error and a ` +
    `disconnect; far larger ones close a WebSocket with code 1009, and get status 413 over polling. Only voice.audio accepts binary data.`
  )
}

/** Builds the parts of a document, event by event. */
class Parts {
  readonly channelMessages: Record<string, Ref> = {}
  readonly messages: AsyncApiDocument['components']['messages'] = {}
  readonly operations: Record<string, object> = {}
  readonly schemas: Record<string, object> = {}

  /** Adds an event of clients with its acknowledgement. */
  receive(event: string, schema: TSchema, answer: TSchema): void {
    const ack = `${event}.ack`
    this.#addMessage(event, schema)
    this.#addMessage(ack, answer, RefusalSchema)
    this.operations[event] = {
      action: 'receive',
      channel: refTo('channels', CHANNEL),
      messages: [refTo('channels', CHANNEL, 'messages', event)],
      reply: { channel: refTo('channels', CHANNEL), messages: [refTo('channels', CHANNEL, 'messages', ack)] }
    }
  }

  /** Adds an event of the server; if clients emit one of the same name, it is listed as `.sent`. */
  send(event: string, schema: TSchema): void {
    const id = event in this.operations ? `${event}.sent` : event
    this.#addMessage(id, schema)
    this.messages[id]!.name = event
    this.operations[id] = {
      action: 'send',
      channel: refTo('channels', CHANNEL),
      messages: [refTo('channels', CHANNEL, 'messages', id)]
    }
  }

  #addMessage(name: string, ...choices: TSchema[]): void {
    const refs = choices.map((schema) => this.#addSchema(schema))
    const payload = refs.length === 1 ? refs[0]! : { oneOf: refs }
    this.messages[name] = { name, title: name, payload }
    this.channelMessages[name] = refTo('components', 'messages', name)
  }

  #addSchema(schema: TSchema): Ref {
    const name = schema.title!
    this.schemas[name] ??= JSON.parse(JSON.stringify(schema)) as object
    return refTo('components', 'schemas', name)
  }
}

// AsyncAPI calls OpenAPI's `apiKey` `httpApiKey`.
function toSecuritySchemes(schemes: SecuritySchemes | undefined): Record<string, object> | undefined {
  if (schemes === undefined) return undefined
  const entries = Object.entries(schemes).map(([name, scheme]) => [
    name,
    scheme['type'] === 'apiKey' ? { ...scheme, type: 'httpApiKey' } : scheme
  ])
  return Object.fromEntries(entries) as Record<string, object>
}

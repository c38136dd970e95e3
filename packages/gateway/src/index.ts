export { default } from './plugin.ts'
export { generateAsyncApi, type AsyncApiDocument } from './asyncapi/async-api.ts'
export { AsyncApiOptionsSchema, type AsyncApiOptions } from './asyncapi/async-api-options.ts'
export type { GatewaySocketData } from './sockets/connection.ts'
export type { GatewayCors } from './sockets/origins.ts'
export {
  GatewayOptionsSchema,
  type GatewayAuthenticate,
  type GatewayMiddleware,
  type GatewayOptions,
  type GatewayTransport
} from './options.ts'
export * as errors from './errors.ts'
export * from './events/acknowledgements.ts'
export * from './events/client-events.ts'
export * from './events/server-events.ts'
export * from './events/voice-events.ts'
export * from './events/voice-events.ts'

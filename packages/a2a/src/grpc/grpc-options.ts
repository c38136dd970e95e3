import { Type } from '@sinclair/typebox'
import { optionsSchema } from '@svc/registry/kit'

/** A certificate of TLS. */
export interface GrpcKeys {
  /** The private key, as PEM. */
  key: string | Uint8Array
  /** The certificate with its chain, as PEM. */
  cert: string | Uint8Array
  /** Certificates of authorities, as PEM: clients have to show a certificate that one of them signed. */
  ca?: string | Uint8Array
}

/** Credentials of a server, as `ServerCredentials` of `@grpc/grpc-js` makes them. */
export interface GrpcServerCredentials {
  _isSecure(): boolean
  _equals(other: never): boolean
}

/** Options of the binding to gRPC. */
export interface GrpcBindingOptions {
  /** The port to listen on; 0: a free one. */
  port: number
  /** The address to listen on; default `127.0.0.1`. */
  host?: string
  /** `host:port` on the card, behind a proxy; default: where the service listens. */
  url?: string
  /** A certificate, or `ServerCredentials`; default: no TLS. */
  credentials?: GrpcKeys | GrpcServerCredentials
  /** Bytes of a request; default: `limits.bodyLimit` of the plugin. */
  maxMessageBytes?: number
  /** Calls under way on one connection; more wait at the client; default 100. */
  maxConcurrentStreams?: number
}

const pem = Type.Union([Type.String({ minLength: 1 }), Type.Uint8Array()])

const KeysSchema = Type.Object(
  { key: pem, cert: pem, ca: Type.Optional(pem) },
  { additionalProperties: false }
)

const { properties: optional } = optionsSchema<Omit<GrpcBindingOptions, 'port'>>({
  host: Type.String({ minLength: 1 }),
  url: Type.String({ pattern: '^[^\\s/:]+:\\d{1,5}$|^\\[[\\da-fA-F:.]+\\]:\\d{1,5}$' }),
  credentials: Type.Union([KeysSchema, Type.Unsafe<GrpcServerCredentials>(Type.Object({}))]),
  maxMessageBytes: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 }),
  maxConcurrentStreams: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 })
})

export const GrpcBindingOptionsSchema = Type.Object(
  { port: Type.Integer({ minimum: 0, maximum: 65_535 }), ...optional },
  { additionalProperties: false }
)

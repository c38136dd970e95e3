import { Type, type TSchema } from '@sinclair/typebox'
import { optionsSchema, requireOptions } from '@svc/contract'
import { A2A_ERR_BAD_OPTION } from '../errors.ts'

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

/** TLS of a client; without members, a certificate that the system's authorities signed is trusted. */
export interface GrpcTlsOptions {
  /** Certificates of the trusted authorities, as PEM. */
  ca?: string | Uint8Array
  /** The client's private key, as PEM, for services that ask for a certificate. */
  key?: string | Uint8Array
  /** The client's certificate with its chain, as PEM. */
  cert?: string | Uint8Array
}

/** Credentials of a channel, as `ChannelCredentials` of `@grpc/grpc-js` makes them. */
export interface GrpcChannelCredentials {
  _isSecure(): boolean
  _equals(other: never): boolean
}

/** Options of the client's side of gRPC. */
export interface GrpcTransportOptions {
  /** `{ ca?, key?, cert? }` for TLS, or `ChannelCredentials`; default: no TLS. */
  credentials?: GrpcTlsOptions | GrpcChannelCredentials
}

const pem = Type.Union([Type.String({ minLength: 1 }), Type.Uint8Array()])

const KeysSchema = Type.Object(
  { key: pem, cert: pem, ca: Type.Optional(pem) },
  { additionalProperties: false }
)

const { properties: optional } = optionsSchema<Omit<GrpcBindingOptions, 'port'>>({
  host: Type.String({ minLength: 1 }),
  url: Type.String({ pattern: '^[^\\s/:]+:\\d{1,5}$|^\\[[\\da-fA-F:.]+\\]:\\d{1,5}$' }),
  credentials: Type.Unsafe<GrpcKeys | GrpcServerCredentials>(KeysSchema),
  maxMessageBytes: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 }),
  maxConcurrentStreams: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 })
})

export const GrpcBindingOptionsSchema = Type.Object(
  { port: Type.Integer({ minimum: 0, maximum: 65_535 }), ...optional },
  { additionalProperties: false }
)

const TlsSchema = Type.Object(
  { ca: Type.Optional(pem), key: Type.Optional(pem), cert: Type.Optional(pem) },
  { additionalProperties: false }
)

export const GrpcTransportOptionsSchema = optionsSchema<GrpcTransportOptions>({
  credentials: Type.Unsafe<GrpcTlsOptions | GrpcChannelCredentials>(TlsSchema)
})

/** Checks options. Credentials of `@grpc/grpc-js` are no plain values, and are taken as they are. @throws A2A_ERR_BAD_OPTION */
export function requireGrpcOptions(schema: TSchema, options: object): void {
  const { credentials, ...others } = options as { credentials?: unknown }
  const isMade = typeof credentials === 'object' && credentials !== null && '_isSecure' in credentials
  requireOptions(schema, isMade ? others : options, A2A_ERR_BAD_OPTION)
}

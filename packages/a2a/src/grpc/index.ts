export { grpcBinding } from './grpc-binding.ts'
export { grpcTransport } from './client/grpc-transport.ts'
export type {
  GrpcBindingOptions,
  GrpcChannelCredentials,
  GrpcKeys,
  GrpcServerCredentials,
  GrpcTlsOptions,
  GrpcTransportOptions
} from './grpc-options.ts'
export type { GrpcBinding } from '../bindings/grpc-binding.ts'
export type { RemoteTransport } from '../client/connection/transport.ts'

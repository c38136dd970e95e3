export { grpcBinding } from './grpc-binding.ts'
export type { GrpcBindingOptions, GrpcKeys, GrpcServerCredentials } from './grpc-options.ts'
export type { GrpcBinding } from '../bindings/grpc-binding.ts'

export { default } from './plugin.ts'
export { buildAgentCard } from './cards/build-agent-card.ts'
export type { CardAgent, CardFacts } from './cards/build-card.ts'
export type { AgentCardV03, AgentCardV10, BuiltCard } from './wire/encode-card.ts'
export type { OAuthFlows, SecurityScheme, SecuritySchemeV10 } from './wire/security-scheme.ts'
export type { GrpcBinding } from './bindings/grpc-binding.ts'
export { A2aOptionsSchema, type A2aOptions } from './options.ts'
export type {
  AgentCard,
  AgentCardSignature,
  AgentExtension,
  AgentInterface,
  AgentProvider,
  AgentSkill,
  Binding,
  SecurityRequirement
} from './model/agent-card.ts'
export { signAgentCard, verifyAgentCard } from './signatures/signed-card.ts'
export type {
  CardSigningKey,
  SignatureAlgorithm,
  SignCard,
  SignCardFunction
} from './signatures/card-signer.ts'
export type { VerifyCard, VerifyCardFunction, VerifyCardOptions } from './signatures/card-verifier.ts'
export type { CardKey, CardKeys, CardSignatureHeader } from './signatures/verification-keys.ts'
export type { ProtocolVersion } from './wire/versions.ts'
export type { DeliveryRules } from './push/deliver.ts'
export type { Lookup } from '@svc/surface'
export type { ExtendCard } from './service/surface.ts'
export { remoteAgent, type RemoteAgent } from './client/remote-agent.ts'
export type { RemoteAgentOptions } from './client/remote-options.ts'
export type {
  AnswerLimits,
  RemoteCall,
  RemoteRequest,
  RemoteStream,
  RemoteTransport
} from './client/connection/transport.ts'
export * as errors from './errors.ts'

export { default } from './plugin.ts'
export { buildAgentCard } from './cards/build-agent-card.ts'
export type { CardAgent, CardFacts } from './cards/build-card.ts'
export type { BuiltCard } from './cards/encode-card.ts'
export type { OAuthFlows, SecurityScheme } from './wire/security-scheme.ts'
export type { AgentCardV03 } from './wire/v0.3/card.ts'
export type { AgentCardV10, SecuritySchemeV10 } from './wire/v1.0/card.ts'
export { A2aOptionsSchema, type A2aOptions } from './options.ts'
export type {
  AgentCard,
  AgentExtension,
  AgentProvider,
  AgentSkill,
  ProtocolVersion
} from './model/agent-card.ts'
export type { DeliveryRules } from './push/deliver.ts'
export type { Lookup } from './push/safe-target.ts'
export type { ExtendCard } from './service/surface.ts'
export { remoteAgent, type RemoteAgent } from './client/remote-agent.ts'
export type { RemoteAgentOptions } from './client/remote-options.ts'
export * from './errors.ts'

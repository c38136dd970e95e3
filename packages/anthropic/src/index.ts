export { WireOptionsSchema as AnthropicOptionsSchema } from '@svc/surface'
export type { WireOptions as AnthropicOptions } from '@svc/surface'
export { default } from './plugin.ts'
export * as errors from './errors.ts'

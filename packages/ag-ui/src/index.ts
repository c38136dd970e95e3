export { WireOptionsSchema as AgUiOptionsSchema, type WireOptions as AgUiOptions } from '@svc/surface'
export { default } from './plugin.ts'
export type { AgUiEvent } from './wire/events.ts'
export * as errors from './errors.ts'

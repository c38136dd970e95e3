export { WireOptionsSchema as AgUiOptionsSchema, type WireOptions as AgUiOptions } from '@svc/surface'
export { default } from './plugin.ts'
export type { AgUiEvent } from './wire/events.ts'
export * from './errors.ts'

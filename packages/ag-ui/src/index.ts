export { default } from './plugin.ts'
export { AgUiOptionsSchema, type AgUiOptions } from './options.ts'
export type { AgUiEvent } from './wire/events.ts'
export * from './errors.ts'

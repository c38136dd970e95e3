export { default } from './plugin.ts'
export { ConsoleOptionsSchema, type ConsoleOptions, type Surfaces } from './options.ts'
export * as errors from './errors.ts'

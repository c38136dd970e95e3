export { default } from './plugin.ts'
export { McpOptionsSchema, type AskedCredentials, type McpOptions } from './options.ts'
export * as errors from './errors.ts'

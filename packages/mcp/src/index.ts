export { default } from './plugin.ts'
export { McpOptionsSchema, type McpOptions } from './options.ts'
export * from './errors.ts'

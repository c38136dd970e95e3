export {
  WireOptionsSchema as UiStreamOptionsSchema,
  type WireOptions as UiStreamOptions
} from '@svc/registry/wire-kit'
export { default } from './plugin.ts'
export { UiChunkSchema, type ChatMetadata, type UiChunk } from './wire/chunks.ts'
export type { UiMessage, UiPart } from './wire/messages.ts'
export * from './errors.ts'

export { default } from './plugin.ts'
export { createStore, type Store } from './create-store.ts'
export { StoreOptionsSchema, type StoreOptions } from './options.ts'
export * as errors from './errors.ts'

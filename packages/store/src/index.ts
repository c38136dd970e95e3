export { default } from './plugin.ts'
export { createStore, type Store } from './create-store.ts'
export { StoreOptionsSchema, type StoreOptions } from './options.ts'
export * from './errors.ts'

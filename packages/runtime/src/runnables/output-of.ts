import type { BaseRunnable } from './base-runnable.ts'

/** The structured answer a runnable declares by a schema; `unknown` where it declares none. */
export type DeclaredOutput<R> = R extends BaseRunnable<infer Output, unknown> ? Output : unknown

/** The structured answer in the results of a runnable; `unknown` where its type does not say. */
export type StructuredOf<R> = R extends {
  run(...args: never[]): PromiseLike<{ structured: infer Structured }>
}
  ? Exclude<Structured, null>
  : unknown

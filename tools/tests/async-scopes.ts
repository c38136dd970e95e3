import { AsyncLocalStorage, AsyncResource as Resource, type HookCallbacks } from 'node:async_hooks'

// What tap imports of `node:async_hooks`, to find the test whose code threw or left a rejection unhandled. The hooks of Node would follow
// every promise until it is collected, which takes up to 40 % of the CPU time of a test; here the context of asynchronous calls tells it.

const scope = new AsyncLocalStorage<number>()
let hooks: HookCallbacks = {}

/** The id of the resource whose scope the caller runs in, however much later; 0 outside of all. */
export const executionAsyncId = () => scope.getStore() ?? 0

/** Calls `init` of one hook, for resources of this module only. */
export const createHook = (callbacks: HookCallbacks) => ({
  enable: () => void (hooks = callbacks),
  disable: () => void (hooks = {})
})

/** A resource that stays the current one for all that its scope starts. */
export class AsyncResource extends Resource {
  constructor(type: string) {
    super(type)
    hooks.init?.(this.asyncId(), type, executionAsyncId(), this)
  }

  override runInAsyncScope<This, Result>(
    act: (this: This, ...args: unknown[]) => Result,
    self?: This,
    ...args: unknown[]
  ): Result {
    return super.runInAsyncScope(() => scope.run(this.asyncId(), () => act.apply(self as This, args)))
  }
}

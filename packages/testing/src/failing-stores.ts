import type { Stores } from '@svc/contract'

/** Stores that a test can make fail. */
export interface FailingStores {
  readonly stores: Stores
  /** Makes every call of the stores throw this. */
  fail(err: Error): void
  /** The stores work again. */
  work(): void
}

/** Wraps stores, so that a test can make them fail. Subscriptions still work. */
export function createFailingStores(stores: Stores): FailingStores {
  let fault: Error | undefined
  const wrap = <T extends object>(store: T): T =>
    new Proxy({} as T, {
      get(_, name) {
        const value: unknown = Reflect.get(store, name)
        if (typeof value !== 'function' || SUBSCRIPTIONS.has(name)) return value
        return (...args: unknown[]) => {
          if (fault !== undefined) throw fault
          return Reflect.apply(value, store, args) as unknown
        }
      }
    })
  const wrapped = Object.entries(stores).map(([name, store]) => [name, wrap(store as object)])
  return {
    stores: Object.fromEntries(wrapped) as Stores,
    fail(err) {
      fault = err
    },
    work() {
      fault = undefined
    }
  }
}

const SUBSCRIPTIONS = new Set<string | symbol>(['subscribe', 'follow', 'onAdded', 'onRemove'])

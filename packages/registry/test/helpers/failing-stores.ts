import { createInProcessStores, type Stores } from '@svc/registry'

type Method = (...args: unknown[]) => unknown

/** Which calls of a store fail. */
export type Fails = (port: string, method: string, args: readonly unknown[]) => boolean

/** Asynchronous stores in memory that can be made to fail. */
export function failingStores() {
  const stores = createInProcessStores()
  let fault: { err: Error; fails: Fails } | undefined
  let looks = 0
  const wrap = (port: string, store: object) =>
    Object.fromEntries(
      Object.entries(store).map(([name, method]: [string, Method]) => [
        name,
        ['follow', 'onFollowed', 'abandon', 'subscribe', 'onAdded', 'onRemove'].includes(name)
          ? method
          : async (...args: unknown[]) => {
              await new Promise((resolve) => setImmediate(resolve))
              if (fault?.fails(port, name, args)) throw fault.err
              return method(...args)
            }
      ])
    )
  const failing = Object.fromEntries(
    Object.entries(stores).map(([port, store]) => [port, wrap(port, store as object)])
  ) as unknown as Stores
  return {
    /** The stores without faults. */
    inner: stores,
    stores: {
      ...failing,
      async check() {
        looks++
        if (fault?.fails('', 'check', [])) throw fault.err
      }
    } satisfies Stores,
    /** Makes all calls fail, or those that `fails` selects, until `mend`. */
    fail(message = 'disk full', fails: Fails = () => true) {
      fault = { err: new Error(message), fails }
    },
    mend: () => void (fault = undefined),
    looks: () => looks
  }
}

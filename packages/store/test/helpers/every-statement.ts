import { DatabaseSync, StatementSync } from 'node:sqlite'

type Before = (method: string) => void

/** Calls `before` ahead of every statement that any connection of this process executes, while `work` goes on. */
export async function beforeEveryStatement<T>(before: Before, work: () => Promise<T>): Promise<T> {
  const restore = [
    wrap(DatabaseSync.prototype, 'exec', before),
    ...['run', 'all', 'get', 'iterate'].map((name) => wrap(StatementSync.prototype, name, before))
  ]
  try {
    return await work()
  } finally {
    for (const each of restore) each()
  }
}

function wrap(prototype: object, name: string, before: Before): () => void {
  const methods = prototype as Record<string, (...args: unknown[]) => unknown>
  const own = methods[name]!
  methods[name] = function (...args) {
    before(name)
    return own.apply(this, args)
  }
  return () => void (methods[name] = own)
}

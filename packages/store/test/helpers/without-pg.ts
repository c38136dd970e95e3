import { registerHooks } from 'node:module'
import { createStore } from '@svc/store'

// A Node where `pg` is not installed.
registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'pg') throw new Error("Cannot find package 'pg'")
    return next(specifier, context)
  }
})

try {
  await createStore({ url: 'postgres://localhost/a' })
} catch (err) {
  const { code, message } = err as NodeJS.ErrnoException
  process.stdout.write(`${code} ${message}`)
}

import { createInProcessStores } from '@svc/registry'
import t from 'tap'
import { RunTurn } from '../../src/turns/run-turn.ts'

const key = { registry: 'global', owner: 'ada', kind: 'agent', name: 'echo', sessionId: 's' } as const
const never = new AbortController().signal

for (const [name, keep, next] of [
  ['a suspended run', true, ['first', 'second']],
  ['a run that has ended', false, ['second']]
] as const)
  t.test(
    `${name} that leaves while it asks for its turn ${keep ? 'keeps it' : 'gives it back'}`,
    async (t) => {
      const { sessions } = createInProcessStores()
      const asked = Promise.withResolvers<void>()
      const slow = {
        ...sessions,
        lock: async (...args: Parameters<typeof sessions.lock>) => {
          const end = await sessions.lock(...args)
          await asked.promise
          return end
        }
      }
      const turn = new RunTurn(slow, key, 'first', await sessions.place!(key, 'first'))
      const taking = turn.take(never, () => {})
      turn.leave(keep)
      const order: string[] = []
      const second = (async () => sessions.lock(key, never, 'second'))().then((end) => {
        order.push('second')
        end()
      })
      asked.resolve()
      await taking
      if (keep) {
        const end = await sessions.lock(key, never, 'first')
        order.push('first')
        end()
      }
      await second
      t.same(order, next)
    }
  )

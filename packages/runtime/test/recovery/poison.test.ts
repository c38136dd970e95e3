import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { survive } from '../helpers/crashing.ts'

const make = () => new Agent({ name: 'agent', register: false, model: scriptedModel('Hi') })

t.test('a run whose process dies 5 times without progress is not resumed again', async (t) => {
  const survived = await survive(make, [2, 0, 0, 0])
  t.equal(survived.status, 'completed')
  const poisoned = await survive(make, [2, 0, 0, 0, 0])
  t.equal(poisoned.status, 'failed')
  t.match(poisoned.parts.at(-1), { type: 'error', error: { code: 'RUN_ERR_POISONED', retryable: false } })
  t.equal(await poisoned.stores.checkpoints.load(poisoned.runId), undefined)
})

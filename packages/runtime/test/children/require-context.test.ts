import { createContext, type RunContext, type Runnable } from '@svc/registry'
import t from 'tap'
import { collect, makeAgent } from '../helpers/make-agent.ts'
import { makeTeam, member } from '../helpers/make-team.ts'
import { makeWorkflow } from '../helpers/make-workflow.ts'

const runnables: readonly Runnable[] = [
  makeAgent('Hello.').agent,
  makeTeam({ mode: 'sequence', members: [member('a')] }),
  makeWorkflow((flow) => flow.step('a', member('a')))
]
const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length

t.test('a context that was made by hand is refused, and leaves nothing behind', async (t) => {
  const refused = {
    code: 'RUN_ERR_BAD_CONTEXT',
    message: /createContext\(\{ sessionId, signal, … \}\) of @svc\/registry/
  }
  const { signal } = new AbortController()
  const given = [
    { sessionId: 'me' },
    { signal },
    { sessionId: 'me', signal },
    {},
    'me',
    { ...createContext() }
  ]
  for (const runnable of runnables)
    for (const context of given as RunContext[]) {
      const before = timers()
      await t.rejects(runnable.run('x', context), refused)
      t.match((await collect(runnable.stream('x', context))).error, refused)
      t.equal(timers(), before, `${runnable.kind}: no timer is left`)
    }
})

t.test('no context is one of its own', async (t) => {
  for (const runnable of runnables) t.ok((await runnable.run('x', createContext({ sessionId: 'me' }))).text)
})

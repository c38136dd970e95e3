import { createRegistry } from '@svc/registry'
import { Agent, Team, Workflow } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'

const model = scriptedModel(['x'])
const run = () => 'x'
const member = { kind: 'agent' as const, name: 'member', run }

t.test('every runnable says how A2A replies to its messages, or leaves it to the service', async (t) => {
  const runnables = (reply?: 'task' | 'message') => {
    const options = { register: false, ...(reply && { reply }) }
    return [
      new Agent({ name: 'a', model, ...options }),
      new Team({ name: 't', mode: 'sequence', members: [member], ...options }),
      new Workflow({ name: 'w', steps: (flow) => flow.step('one', run), ...options }),
      createRegistry().add({ ...member, ...(reply && { reply }) })
    ]
  }
  for (const reply of ['task', 'message', undefined] as const)
    for (const runnable of runnables(reply)) t.equal(runnable.reply, reply, runnable.name)
  t.throws(() => new Agent({ name: 'a', model, register: false, reply: 'x' as never }), {
    code: 'RUN_ERR_BAD_AGENT',
    message: /reply/
  })
})

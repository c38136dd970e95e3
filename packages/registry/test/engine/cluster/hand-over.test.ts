import { setImmediate as turn } from 'node:timers/promises'
import { defineRunnable } from '@svc/registry'
import { scriptedRunnable, steppedRunnable } from '@svc/testing'
import t from 'tap'
import { partsOf } from '../../helpers/collect.ts'
import {
  cluster,
  codeOf,
  createHeldFlow,
  requireWhole,
  textOf,
  type Member,
  stayAlive
} from '../../helpers/engine-cluster.ts'

stayAlive(t)

t.test('a drain hands over runs at once, though others must end first', async (t) => {
  const { flow, done, release } = createHeldFlow()
  const gate = Promise.withResolvers<void>()
  const agent = scriptedRunnable([() => gate.promise, { type: 'text', text: 'plain' }])
  const [first, second] = (await cluster(t, [flow, agent], 2)) as [Member, Member]
  const [handed, plain] = [await first.engine.start(flow, 'x'), await first.engine.start(agent, 'x')]
  const here = partsOf(handed)
  const draining = first.engine.drain(600_000)
  release()
  const parts = await partsOf({ parts: (after) => second.engine.parts(handed.runId, after) })
  requireWhole(t, parts)
  t.same(await here, parts, 'a reader on the node that drains reads on')
  t.match(await handed.result(), { text: 'one;two;' })
  t.same(done, ['one', 'two'], 'the step in progress was waited for')
  t.match(await first.engine.get(plain.runId), { status: 'working', epoch: 1 }, 'it is not taken')
  gate.resolve()
  await draining
  t.match(await plain.result(), { text: 'plain' })
})

t.test('closing leaves to others what can be resumed, and ends the rest', async (t) => {
  const flow = steppedRunnable(['one', 'two'], async (name, { signal }) => {
    if (name === 'one' || attempts++ > 0) return name
    held.resolve()
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    throw signal.reason
  })
  const held = Promise.withResolvers<void>()
  let attempts = 0
  const agent = scriptedRunnable([() => new Promise(() => {})])
  const [first, second] = (await cluster(t, [flow, agent])) as [Member, Member]
  const [left, plain] = [await first.engine.start(flow, 'x'), await first.engine.start(agent, 'x')]
  const codes = [codeOf(left.result()), codeOf(plain.result())]
  await held.promise
  await first.engine.drain(0)
  await first.engine.close()
  t.same(await Promise.all(codes), ['RUN_ERR_SUSPENDED', 'RUN_ERR_INTERRUPTED'])
  t.equal(first.node.stores.lease.held, false)
  const parts = await partsOf({ parts: (after) => second.engine.parts(left.runId, after) })
  requireWhole(t, parts)
  t.equal(textOf(parts), 'one;two;')
})

/** A workflow that waits for two approvals, for as long as it takes. */
const dormant = defineRunnable({
  kind: 'workflow',
  name: 'dormant',
  resumable: true,
  async *stream(_input, context) {
    for (const toolCallId of ['a', 'b']) {
      const request = { toolCallId, toolName: 't', args: {}, durable: true }
      const { approved } = await context.approvals.request(request)
      yield { type: 'text', text: `${approved};` }
    }
  }
})

/** Moves a dormant run from one node to another by declaring its node dead; returns who has it then, and another node. */
async function moveDormant(members: readonly Member[], runId: string): Promise<[Member, Member]> {
  const [first, ...others] = members
  while ((await first!.engine.findInput(`${runId}.1`)) === undefined) await turn()
  first!.node.loseContact()
  first!.node.declareDead()
  while ((await first!.engine.get(runId))!.epoch === 1) await turn()
  while (others.some(({ engine }) => engine.active > 0))
    await new Promise((resolve) => setTimeout(resolve, 5))
  const isOwner = async ({ node }: Member) => (await node.stores.runs.lease(runId)) !== undefined
  return (await isOwner(others[0]!)) ? [others[0]!, others[1]!] : [others[1]!, others[0]!]
}

t.test('a dormant run is woken by an answer on another node, and taken when its node dies', async (t) => {
  const members = await cluster(t, [dormant], 3)
  const { runId } = await members[0]!.engine.start(dormant, 'x')
  const [owner, other] = await moveDormant(members, runId)
  await other.engine.answer(`${runId}.1`, { approved: true })
  while ((await other.engine.findInput(`${runId}.2`)) === undefined) await turn()
  owner.node.loseContact()
  owner.node.declareDead()
  await other.engine.answer(`${runId}.2`, { approved: false })
  const parts = await partsOf({ parts: (after) => other.engine.parts(runId, after) })
  requireWhole(t, parts)
  t.equal(textOf(parts), 'true;false;')
})

t.test('a dormant run of a node that drains is taken once it is answered', async (t) => {
  const gate = Promise.withResolvers<void>()
  const agent = scriptedRunnable([() => gate.promise])
  const members = await cluster(t, [dormant, agent], 3)
  const { runId } = await members[0]!.engine.start(dormant, 'x')
  const [owner, other] = await moveDormant(members, runId)
  await owner.engine.start(agent, 'x')
  const draining = owner.engine.drain(600_000)
  await owner.engine.answer(`${runId}.1`, { approved: true })
  while ((await other.engine.findInput(`${runId}.2`)) === undefined) await turn()
  await owner.engine.answer(`${runId}.2`, { approved: true })
  const parts = await partsOf({ parts: (after) => other.engine.parts(runId, after) })
  requireWhole(t, parts)
  t.equal(textOf(parts), 'true;true;')
  gate.resolve()
  await draining
})

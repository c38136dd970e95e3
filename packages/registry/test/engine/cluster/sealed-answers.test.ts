import { setImmediate as turn } from 'node:timers/promises'
import { defineRunnable, type InputOutcome, type Run, type StartOptions } from '@svc/registry'
import { createRedact } from '../../../src/redaction/redact-value.ts'
import t from 'tap'
import { partsOf } from '../../helpers/collect.ts'
import { cluster, codeOf, type Member, stayAlive } from '../../helpers/engine-cluster.ts'

stayAlive(t)

const key = 'sk-caller-0123'
const withKey: StartOptions = { redact: createRedact([key]) }
const given = { approved: true, reason: `since ${key}`, args: { key, list: [key] } }
const answers: unknown[] = []
const asking = defineRunnable({
  kind: 'workflow',
  name: 'asking',
  resumable: true,
  async *stream(_input, { approvals }) {
    const answer = await approvals.request({ toolCallId: 'c', toolName: 't', args: {} })
    answers.push(answer)
    yield { type: 'text', text: answer.approved ? 'yes' : 'no' }
  }
})

/** Waits until a run asks; returns the id of the input. */
async function asked({ engine }: Member, { runId }: Run): Promise<string> {
  while ((await engine.findInput(`${runId}.1`)) === undefined) await turn()
  return `${runId}.1`
}

/** Collects each answer to inputs as the stores get it. */
function watchAnswers({ node }: Member): InputOutcome[] {
  const stored: InputOutcome[] = []
  const { runs } = node.stores
  const { answerInput, replaceAnswer } = runs
  runs.answerInput = (runId, inputId, answer) => {
    stored.push(answer)
    return answerInput(runId, inputId, answer)
  }
  runs.replaceAnswer = (inputId, sealed, answer) => {
    if (answer !== null) stored.push(answer)
    return replaceAnswer(inputId, sealed, answer)
  }
  return stored
}

t.test('an answer on another node is stored without the key, and delivered unchanged', async (t) => {
  const [first, second] = (await cluster(t, [asking])) as [Member, Member]
  const stored = [watchAnswers(first), watchAnswers(second)]
  const run = await first.engine.start(asking, 'x', withKey)
  const inputId = await asked(second, run)
  await second.engine.answer(inputId, given)
  t.match(await run.result(), { text: 'yes' })
  t.strictSame(answers.pop(), given)
  t.notMatch(JSON.stringify([stored, await first.engine.get(run.runId), await partsOf(run)]), key)
  t.strictSame((await second.engine.findInput(inputId))?.input.answer, {
    action: 'accept',
    reason: 'since [redacted]',
    content: { key: '[redacted]', list: ['[redacted]'] }
  })
  t.equal(await codeOf(first.engine.answer(inputId, given)), 'RUN_ERR_INPUT_ANSWERED')
})

t.test(
  'answers to runs without a key of their caller, or that contain nothing, are not encrypted',
  async (t) => {
    const [first, second] = (await cluster(t, [asking])) as [Member, Member]
    const stored = watchAnswers(second)
    const plain = await first.engine.start(asking, 'x')
    await second.engine.answer(await asked(second, plain), given)
    const keyed = await first.engine.start(asking, 'x', withKey)
    await second.engine.answer(await asked(second, keyed), { approved: false })
    t.match(await keyed.result(), { text: 'no' })
    t.strictSame(stored, [
      { action: 'accept', content: given.args, reason: given.reason },
      { action: 'decline' }
    ])
  }
)

t.test('one of two answers on two other nodes counts', async (t) => {
  const [first, ...others] = (await cluster(t, [asking], 3)) as [Member, Member, Member]
  for (let round = 0; round < 10; round++) {
    const run = await first.engine.start(asking, 'x', withKey)
    const inputId = await asked(first, run)
    const codes = await Promise.all(
      others.map(({ engine }, index) =>
        codeOf(engine.answer(inputId, { approved: true, reason: `by ${index} ${key}` }))
      )
    )
    t.same(codes.map(String).toSorted(), ['RUN_ERR_INPUT_ANSWERED', 'none'])
    await run.result()
    t.match(answers.pop(), { approved: true, reason: `by ${codes.indexOf('none')} ${key}` })
  }
})

t.test(
  'an answer that was encrypted for a node that died is given to the node that takes its run',
  async (t) => {
    const options = { resumeWithServerKey: true }
    const [first, second] = (await cluster(t, [asking], 2, options)) as [Member, Member]
    const run = await first.engine.start(asking, 'x', withKey)
    const inputId = await asked(second, run)
    first.node.stores.runs.replaceAnswer = () => new Promise(() => {})
    first.node.loseContact()
    first.node.declareDead()
    const stored = watchAnswers(second)
    await second.engine.answer(inputId, { approved: true, reason: 'fine' })
    const parts = await partsOf({ parts: (after) => second.engine.parts(run.runId, after) })
    t.match(parts.at(-1), { type: 'finish', finishReason: 'stop' })
    t.match(answers.pop(), { approved: true, reason: 'fine' })
    t.match(stored, [
      { action: 'accept', sealed: String },
      { action: 'accept', reason: 'fine' }
    ])
  }
)

import type { Runnable } from '@svc/registry'
import t from 'tap'
import { failing, makeTeam, member, runIn } from '../../helpers/make-team.ts'
import { makeWorkflow } from '../../helpers/make-workflow.ts'

const quick = { baseDelay: 1 }

t.test('a step is tried again, and says so', async (t) => {
  const attempts: [number, string][] = []
  const flow = makeWorkflow((steps) =>
    steps.step(
      'flaky',
      ({ attempt, idempotencyKey }) => {
        attempts.push([attempt, idempotencyKey.split('/').slice(1).join('/')])
        if (attempt < 3) throw new Error('not yet')
        return 'at last'
      },
      { retry: { attempts: 3, ...quick } }
    )
  )
  const { result, parts } = await runIn(flow)
  t.match(result, { text: 'at last' })
  t.same(attempts, [
    [1, 'flaky'],
    [2, 'flaky'],
    [3, 'flaky']
  ])
  t.match(
    parts.filter(({ type }) => type === 'step.start'),
    [
      { attempt: 2, source: ['flaky'] },
      { attempt: 3, source: ['flaky'] }
    ]
  )
})

t.test('a runnable too, until its attempts are over', async (t) => {
  let calls = 0
  const flaky = member('flaky', { type: 'text', text: 'half ' }, () => {
    if (++calls < 3) throw new Error('no')
  })
  const once = await runIn(
    makeWorkflow((flow) => flow.step('a', flaky, { retry: { attempts: 2, ...quick } }))
  )
  t.match(once.error, { code: 'RUN_ERR_FAILED' })
  t.equal(calls, 2)
  const again = await runIn(
    makeWorkflow((flow) => flow.step('a', flaky, { retry: { attempts: 2, ...quick } }))
  )
  t.match(again.result, { text: 'half ' })
})

t.test('an attempt has its time, and its signal aborts', async (t) => {
  let aborted = 0
  const flow = makeWorkflow((steps) =>
    steps.step(
      'slow',
      ({ attempt, signal }) => {
        signal.addEventListener('abort', () => aborted++)
        return attempt === 1 ? new Promise<string>(() => {}) : 'quick'
      },
      { timeout: 20, retry: { attempts: 2, ...quick } }
    )
  )
  t.match((await runIn(flow)).result, { text: 'quick' })
  t.equal(aborted, 1)
  const hanging = makeWorkflow((steps) =>
    steps.step(
      'slow',
      member('m', () => new Promise(() => {})),
      { timeout: 20 }
    )
  )
  t.match((await runIn(hanging)).error, {
    code: 'RUN_ERR_STEP_TIMEOUT',
    statusCode: 504,
    message: 'The step "slow" took longer than 20 ms'
  })
})

t.test('each attempt that fails says so once', async (t) => {
  const failures = async (work: Runnable | (() => never)) => {
    const flow = makeWorkflow((steps) =>
      steps.step('a', work as Runnable, { retry: { attempts: 2, ...quick } })
    )
    const { parts } = await runIn(flow)
    return parts.flatMap(({ type, source }) => (type === 'error' ? [source?.join('/') ?? ''] : []))
  }
  const throws = () => {
    throw new Error('no')
  }
  t.same(await failures(throws), ['a', 'a', ''])
  t.same(await failures(failing('bad')), ['a', 'a', ''])
  t.same(await failures(makeTeam({ mode: 'sequence', members: [failing('bad')] })), [
    'a/bad',
    'a',
    'a/bad',
    'a',
    ''
  ])
})

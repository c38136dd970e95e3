import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildApp, echo, say } from '../helpers/build-app.ts'

interface Line {
  level: number
  msg: string
  code?: string
  err?: object
}

const endless = scriptedRunnable([60_000], { name: 'endless' })

/** An app that accepts one run, and the lines of its log that have a code. */
async function buildLoggingApp(t: Parameters<typeof buildApp>[0]) {
  const lines: Line[] = []
  const write = (line: string) => {
    const said = JSON.parse(line) as Line
    if (said.code !== undefined) lines.push(said)
  }
  const app = await buildApp(t, {
    runnables: [echo, endless],
    engine: { limits: { maxRuns: 1 } },
    fastify: { logger: { level: 'info', stream: { write } } }
  })
  const send = async () => {
    await app.rpc('message/send', say('x', { messageId: crypto.randomUUID() }))
    await fetch(`${app.url}/v1/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        message: { role: 'ROLE_USER', content: [{ text: 'x' }], messageId: crypto.randomUUID() }
      })
    })
    return lines.splice(0)
  }
  return { ...app, send }
}

const levelsOf = (lines: Line[]) => lines.map(({ level, code, err }) => [level, code, err !== undefined])

t.test('a refused run is logged as a warning without a stack, once per request', async (t) => {
  const { runs, send } = await buildLoggingApp(t)
  const run = await runs.start(endless, 'x')
  t.strictSame(levelsOf(await send()), [
    [40, 'RUN_ERR_OVERLOADED', false],
    [40, 'RUN_ERR_OVERLOADED', false]
  ])
  await run.cancel()
  void runs.close()
  t.strictSame(levelsOf(await send()), [
    [40, 'RUN_ERR_DRAINING', false],
    [40, 'RUN_ERR_DRAINING', false]
  ])
})

t.test('a failing store is logged as an error with its stack', async (t) => {
  const { runs, send } = await buildLoggingApp(t)
  t.intercept(runs.stores.runs, 'create', {
    value: () => Promise.reject(new Error('the disk is full'))
  })
  const lines = (await send()).filter(({ msg }) => msg === 'request failed')
  t.strictSame(levelsOf(lines), [
    [50, 'RUN_ERR_STORE', true],
    [50, 'RUN_ERR_STORE', true]
  ])
})

import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildGateway, echo } from '../helpers/build-gateway.ts'

interface Line {
  level: number
  msg: string
  code?: string
  err?: object
  event?: string
}

const endless = scriptedRunnable([60_000], { name: 'endless' })

/** A gateway that takes one run, and the lines of its log that have a code. */
async function buildLoggingGateway(t: Parameters<typeof buildGateway>[0]) {
  const lines: Line[] = []
  const write = (line: string) => {
    const said = JSON.parse(line) as Line
    if (said.code !== undefined) lines.push(said)
  }
  const built = await buildGateway(t, {
    runnables: [echo, endless],
    engine: { limits: { maxRuns: 1 } },
    fastify: { logger: { level: 'info', stream: { write } } }
  })
  const client = await built.connect()
  const send = async (event = 'agent.run') => {
    await client.emitWithAck(event as 'agent.run', { name: 'echo', input: 'x' })
    return lines.splice(0)
  }
  return { ...built, lines, send }
}

const levelsOf = (lines: Line[]) =>
  lines.map(({ level, code, err, event }) => [level, code, event, err !== undefined])

t.test('a refusal while draining is a warning without a stack, once per event', async (t) => {
  const { runs, send } = await buildLoggingGateway(t)
  const run = await runs.start(endless, 'x')
  t.strictSame(levelsOf(await send()), [[40, 'RUN_ERR_OVERLOADED', 'agent.run', false]])
  await run.cancel()
  void runs.close()
  t.strictSame(levelsOf(await send()), [[40, 'RUN_ERR_DRAINING', 'agent.run', false]])
})

t.test('client errors are logged at info, without client data', async (t) => {
  const { send } = await buildLoggingGateway(t)
  t.strictSame(levelsOf(await send('run.cancel')), [[30, 'GTW_ERR_BAD_PAYLOAD', 'run.cancel', false]])
  t.strictSame(levelsOf(await send('a secret')), [[30, 'GTW_ERR_UNKNOWN_EVENT', undefined, false]])
})

t.test('a failing store is an error with its stack', async (t) => {
  const { runs, send } = await buildLoggingGateway(t)
  t.intercept(runs.stores.runs, 'create', {
    value: () => Promise.reject(new Error('the disk is full'))
  })
  const lines = (await send()).filter(({ msg }) => msg === 'event failed')
  t.strictSame(levelsOf(lines), [[50, 'RUN_ERR_STORE', 'agent.run', true]])
})

t.test(
  'a run that cannot be canceled is an error with its stack, and nothing of the request that failed',
  async (t) => {
    const { promise: logged, resolve } = Promise.withResolvers<string>()
    const write = (line: string) => {
      if (line.includes('could not be canceled')) resolve(line)
    }
    const { runs, connect } = await buildGateway(t, {
      runnables: [endless],
      options: { reconnectGrace: 0 },
      fastify: { logger: { level: 'info', stream: { write } } }
    })
    const config = { headers: { Authorization: 'Bearer s3cret-of-the-service' } }
    const fault = Object.assign(new Error('Request failed with status code 401'), { config })
    const start = runs.start.bind(runs)
    t.intercept(runs, 'start', {
      value: async (...args: Parameters<typeof start>) =>
        Object.assign(await start(...args), { cancel: () => Promise.reject(fault) })
    })
    const client = await connect()
    await client.emitWithAck('agent.run', { name: 'endless', input: 'x' })
    client.disconnect()
    const line = await logged
    t.match(line, 'Request failed with status code 401')
    t.notMatch(line, 's3cret')
  }
)

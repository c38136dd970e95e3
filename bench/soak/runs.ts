import { createRegistry, createRunEngine, type RunEngine } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { activeTimers, heapInUse, type Finding } from './finding.ts'

const MEBIBYTE = 1_048_576
const WARM = 10_000

/** So many runs, every second one aborted while its model is silent: memory, timers and listeners afterwards. */
export async function soakRuns(count: number): Promise<Finding[]> {
  const registry = createRegistry()
  const engine = createRunEngine({ retention: { maxRuns: 1_000 } })
  const quick = new Agent({
    name: 'quick',
    model: scriptedModel('Done.', { record: false }),
    registry
  })
  const silent = new Agent({
    name: 'silent',
    model: scriptedModel({ hangs: 'stream' }, { record: false }),
    registry
  })

  const timers = activeTimers()
  const listeners = processListeners()
  await runs(engine, quick, silent, WARM)
  const before = heapInUse()
  await runs(engine, quick, silent, count - WARM)
  const grown = heapInUse() - before
  const left = activeTimers() - timers
  await engine.close()
  return [
    { what: `heap grown from run ${WARM} to ${count}`, value: grown / MEBIBYTE, limit: 10, unit: 'MiB' },
    { what: 'timers left', value: left, limit: 0, unit: '' },
    { what: 'listeners left', value: processListeners() - listeners, limit: 0, unit: '' },
    { what: 'runs left', value: engine.active, limit: 0, unit: '' }
  ]
}

async function runs(engine: RunEngine, quick: Agent, silent: Agent, count: number): Promise<void> {
  for (let index = 0; index < count; index += 2) {
    const run = await engine.start(quick, 'Do it.')
    const hanging = await engine.start(silent, 'Do it.')
    await run.result()
    await hanging.cancel()
  }
}

function processListeners(): number {
  return process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)
}

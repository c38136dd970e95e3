import { text as textOf } from 'node:stream/consumers'
import a2a from '@svc/a2a'
import registryPlugin, { createRegistry, createRunEngine, type RunEngine } from '@svc/registry'
import { createSseStream } from '@svc/surface'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import Fastify from 'fastify'
import { median } from './figures.ts'
import { ANSWER } from './quick.ts'

const registry = createRegistry()

/** Shows that a run does not get dearer with what came before it. */
export async function report(): Promise<void> {
  console.log('\ncost that must not grow, CPU in this process, median of 5\n')
  await reportRuns()
  await reportParts()
  await reportEvents()
}

async function reportRuns(): Promise<void> {
  const engine = createRunEngine()
  const agent = answering('runs')
  const cost = async (): Promise<number> => perItem(2_000, () => finish(engine, agent))
  await times(1_000, () => finish(engine, agent))
  const few = await cost()
  await times(100_000, () => finish(engine, agent))
  const many = await cost()
  await engine.close()
  line('µs a run, 1,000 finished before : 100,000', few, many)
}

async function reportParts(): Promise<void> {
  const engine = createRunEngine()
  const cost = async (chunks: number, repeat: number): Promise<number> => {
    const agent = speaker(chunks)
    const each = await perItem(repeat, () => read(engine, agent))
    return each / chunks
  }
  const few = await cost(100, 400)
  const many = await cost(10_000, 4)
  await engine.close()
  line('µs a part, streamed, of 100 : of 10,000', few, many)
}

async function reportEvents(): Promise<void> {
  const app = Fastify()
  await app.register(registryPlugin)
  const speakers = [100, 4_000].map((chunks) => speaker(chunks))
  await app.register(a2a, { basePath: '/a2a', agents: speakers })
  const cost = async (chunks: number, repeat: number): Promise<number> => {
    const parts = [{ kind: 'text', text: 'Say it all.' }]
    const message = { role: 'user', parts, metadata: { agentName: `parts-${chunks}` } }
    const payload = { jsonrpc: '2.0', id: 1, method: 'message/stream', params: { message } }
    const each = await perItem(repeat, async () => {
      await app.inject({ method: 'POST', url: '/a2a', payload })
    })
    return each / chunks
  }
  const few = await cost(100, 400)
  const many = await cost(4_000, 10)
  await app.close()
  line('µs an event over A2A, of 100 : of 4,000', few, many)
}

function speaker(chunks: number): Agent {
  const text = Array.from({ length: chunks }, () => 'word ')
  const model = scriptedModel({ text }, { record: false })
  return new Agent({ name: `parts-${chunks}`, model, register: false })
}

function answering(name: string): Agent {
  return new Agent({ name, model: scriptedModel(ANSWER, { record: false }), registry })
}

async function finish(engine: RunEngine, agent: Agent): Promise<void> {
  const run = await engine.start(agent, 'What does the fox do?')
  await run.result()
}

async function read(engine: RunEngine, agent: Agent): Promise<void> {
  const run = await engine.start(agent, 'Say it all.')
  await textOf(createSseStream(engine, run.runId))
}

async function times(count: number, what: () => Promise<void>): Promise<void> {
  for (let index = 0; index < count; index++) await what()
}

async function perItem(count: number, what: () => Promise<void>): Promise<number> {
  await times(Math.ceil(count / 4), what)
  const costs: number[] = []
  for (let round = 0; round < 5; round++) {
    const before = process.cpuUsage()
    await times(count, what)
    const { user, system } = process.cpuUsage(before)
    costs.push((user + system) / count)
  }
  return median(costs)
}

function line(what: string, few: number, many: number): void {
  console.log(`${what.padEnd(58)}${few.toFixed(2).padStart(10)} : ${many.toFixed(2)}`)
}

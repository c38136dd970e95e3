import { createContext, createInProcessStores } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'

// CPU that a run costs besides its model's own stream, and what one more chunk costs: `node bench/run-cost.ts`.

const stores = createInProcessStores()
const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }]

function scripted(chunks: number) {
  return scriptedModel({ text: Array.from({ length: chunks }, () => 'word ') }, { record: false })
}

function readModel(chunks: number): () => Promise<void> {
  const model = scripted(chunks)
  return async () => {
    const { stream } = await model.doStream({ prompt })
    const reader = stream.getReader()
    while (!(await reader.read()).done);
  }
}

function readAgent(chunks: number): () => Promise<void> {
  const agent = new Agent({
    name: 'bench',
    model: scripted(chunks),
    instructions: 'Be brief.',
    register: false
  })
  return async () => {
    for await (const part of agent.stream('Hi', createContext({ stores }))) void part
  }
}

/** Microseconds of CPU that one call costs. */
async function cost(work: () => Promise<void>, times: number): Promise<number> {
  for (let i = 0; i < times; i++) await work()
  const before = process.cpuUsage()
  for (let i = 0; i < times; i++) await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / times
}

for (const [chunks, times] of [
  [1, 20_000],
  [10, 10_000],
  [100, 2_000],
  [1_000, 300],
  [10_000, 30]
] as const) {
  const model = await cost(readModel(chunks), times)
  const agent = await cost(readAgent(chunks), times)
  const more = agent - model
  const line = `${chunks} chunks: model ${model.toFixed(1)} µs, agent ${agent.toFixed(1)} µs, besides the model ${more.toFixed(1)} µs`
  process.stdout.write(`${line}, ${(more / chunks).toFixed(2)} µs a chunk\n`)
}

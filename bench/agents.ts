import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Type } from '@sinclair/typebox'
import { createRegistry } from '@svc/registry'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { median } from './figures.ts'

const AGENTS = 2_000
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const model = scriptedModel('Hi', { record: false })

/** Shows what an agent costs that is made, registered and never run. */
export async function report(rounds: number): Promise<void> {
  console.log(`\none agent made, of ${AGENTS}: CPU in µs and heap in kB, median of ${rounds} rounds\n`)
  for (const tools of [0, 1, 10]) {
    measure(tools)
    const costs = Array.from({ length: rounds }, () => measure(tools))
    const [cpu, heap] = [median(costs.map((cost) => cost.cpu)), median(costs.map((cost) => cost.heap))]
    console.log(
      `with ${tools} tools of its own   ${cpu.toFixed(1).padStart(8)} µs ${heap.toFixed(1).padStart(8)} kB`
    )
  }
}

function measure(tools: number) {
  const registry = createRegistry()
  collect()
  const { heapUsed } = process.memoryUsage()
  const before = process.cpuUsage()
  for (let index = 0; index < AGENTS; index++)
    new Agent({ name: `agent-${index}`, instructions: 'Be brief.', model, tools: makeTools(tools), registry })
  const { user, system } = process.cpuUsage(before)
  collect()
  const heap = (process.memoryUsage().heapUsed - heapUsed) / 1e3 / AGENTS
  if (registry.list().length !== AGENTS) throw new Error('an agent was not registered')
  return { cpu: (user + system) / AGENTS, heap }
}

function makeTools(count: number) {
  return Array.from({ length: count }, (_, index) =>
    defineTool({
      name: `add-${index}`,
      description: 'Adds two numbers',
      input: Type.Object({ a: Type.Number(), b: Type.Number() }),
      execute: ({ a, b }) => a + b
    })
  )
}

import { quickJsSandbox } from '@svc/runtime'
import { median, percentile } from './figures.ts'

const CALLS = 500
const COLD_STARTS = 10
const PROMISED_MS = 5

/** Shows what a program in the sandbox costs: in a child that is there, and in one that has to be started. */
export async function report(): Promise<void> {
  const { walls } = quickJsSandbox().describe()
  console.log(`\nprograms in the sandbox (${walls.join(', ')}), milliseconds\n`)
  const sandbox = quickJsSandbox({ processes: 1 })
  const tools = { add: async (args: unknown) => (args as { a: number }).a + 1 }
  const timed = async (code: string) => {
    const startedAt = performance.now()
    const { error } = await sandbox.run({ code, tools })
    if (error) throw new Error(error.message)
    return performance.now() - startedAt
  }
  for (let call = 0; call < 50; call++) await timed('return 1')
  line(`warm call, promised < ${PROMISED_MS}`, await times(CALLS, () => timed('return 1')))
  line('warm call with a host tool', await times(CALLS, () => timed('return tools.add({ a: 1 })')))
  line('cold start', await times(COLD_STARTS, timeColdStart))
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: CALLS }, () => timed('return 1')))
  console.log(
    `${'calls a second, one child'.padEnd(40)}${((CALLS * 1000) / (performance.now() - startedAt)).toFixed(0)}`
  )
  await sandbox.close()
}

async function timeColdStart(): Promise<number> {
  const sandbox = quickJsSandbox({ processes: 1 })
  const startedAt = performance.now()
  await sandbox.run({ code: 'return 1', tools: {} })
  const took = performance.now() - startedAt
  await sandbox.close()
  return took
}

async function times(count: number, what: () => Promise<number>): Promise<number[]> {
  const all: number[] = []
  for (let index = 0; index < count; index++) all.push(await what())
  return all.toSorted((a, b) => a - b)
}

function line(what: string, sorted: readonly number[]): void {
  const p99 = percentile(sorted, 0.99)
  console.log(`${what.padEnd(40)}median ${median(sorted).toFixed(2)}, p99 ${p99.toFixed(2)}`)
}

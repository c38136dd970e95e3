import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { defineRunnable, type RunEngine, type YieldedPart } from '@svc/registry'
import t from 'tap'
import { buildEngine } from '../helpers/collect.ts'

const MAX_BYTES = 12_000_000

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function used(): number {
  // The second time takes what the first one's finalizers let go.
  for (let times = 0; times < 2; times++) collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

// In a function of its own, whose end lets go of the list.
async function countRuns(engine: RunEngine): Promise<number> {
  return (await engine.list({ limit: 1_000_000 })).runs.length
}

// Each text is a string of its own, as a provider's are.
const fresh = (text: string): string => Buffer.from(text).toString()
const args = { city: 'Paris', days: 3, units: ['metric', 'imperial'] }
const call = { toolCallId: 'call-1', toolName: 'weather' }

const SHAPES: Record<string, () => YieldedPart[]> = {
  'short increments': () =>
    Array.from({ length: 20 }, (_, index) => ({ type: 'text', text: fresh(`increment ${index}`) })),
  'no text': () => [],
  'one long text': () => [{ type: 'text', text: fresh('x'.repeat(20_000)) }],
  'wide characters': () => [{ type: 'text', text: fresh('漢字'.repeat(5_000)) }],
  'a tool call': () => [
    { type: 'tool.call', ...call, args: { ...args } },
    { type: 'tool.result', ...call, result: fresh('sunny '.repeat(100)), durationMs: 1 }
  ]
}

for (const [name, shape] of Object.entries(SHAPES)) {
  t.test(`finished runs take about as much memory as they may: ${name}`, async (t) => {
    const runnable = defineRunnable({
      kind: 'agent',
      name: 'a',
      async *stream() {
        yield* shape()
      }
    })
    const engine = buildEngine(t, { retention: { maxBytes: MAX_BYTES, maxRuns: 1_000_000 } })
    // Compiled code is not a run's.
    const warm = buildEngine(t)
    for (let runs = 0; runs < 500; runs++) await (await warm.start(runnable, 'x')).result()
    const before = used()
    let kept = 0
    for (let runs = 0; kept === runs;) {
      for (let each = 0; each < 250; each++, runs++) await (await engine.start(runnable, 'x')).result()
      kept = await countRuns(engine)
    }
    const share = (used() - before) / MAX_BYTES
    // A text in one piece is one string for the log and the result.
    t.ok(share > 0.4 && share < 1.2, `${(share * 100).toFixed(0)} % for ${kept} runs`)
  })
}

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { liftModel } from '../../src/models/lift-model.ts'
import { stopAt } from '../../src/models/stop-texts.ts'

setFlagsFromString('--expose-gc')
const collectYoung = runInNewContext('() => gc({ type: "minor" })') as () => void

/** Bytes of the model of one run. */
const SIZE = 20_000
const RUNS = 500

const model = scriptedModel('Hello.', { record: false })
const MAKERS: Record<string, (own: object) => LanguageModelV4> = {
  'of an earlier specification': (own) =>
    liftModel({ ...model, ...own, specificationVersion: 'v3' } as unknown as LanguageModelV3),
  'with stop texts': (own) => stopAt({ ...model, ...own }, ['END'])
}

for (const [name, make] of Object.entries(MAKERS))
  t.test(`a model ${name} goes with its run, without a full garbage collection`, async (t) => {
    const before = process.memoryUsage().heapUsed
    for (let run = 0; run < RUNS; run++) {
      make({ bytes: Array.from({ length: SIZE / 8 }, () => run) })
      if (run % 20 === 0) collectYoung()
    }
    for (let times = 0; times < 4; times++) collectYoung()
    const kept = (process.memoryUsage().heapUsed - before) / RUNS
    t.ok(kept < SIZE / 10, `${kept.toFixed(0)} bytes of ${SIZE}`)
  })

import t from 'tap'
import { drainUnderLoad } from '../bench/soak/drain.ts'

t.test(
  'a service draining under load serves everything but new runs, and reports correct states',
  async (t) => {
    t.setTimeout(120_000)
    const { faults, untrue, missing, runs, refusals, served } = await drainUnderLoad({
      clients: 2,
      stock: 15,
      drainTimeout: 1_500
    })
    t.comment(`${runs} runs, ${served} requests served and ${refusals} refused while draining`)
    t.same(faults, [], 'invalid responses before the end')
    t.same(untrue, [], 'states reported to clients that are wrong')
    t.same(missing, [], 'responses and notifications that are missing')
    t.ok(refusals > 0)
  }
)

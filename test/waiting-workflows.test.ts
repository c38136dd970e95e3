import t from 'tap'
import { restartWaiting } from '../bench/soak/waiting.ts'

// A short form of `npm run soak -- --only waiting`, which looks at the memory too.
t.setTimeout(120_000)

t.test('workflows that wait go on after a restart, which keeps nobody waiting', async (t) => {
  for (const signal of ['SIGKILL', 'SIGTERM'] as const)
    t.match(await restartWaiting(20, signal), { unready: true, refusedAnswers: 0, stuck: 0 }, signal)
})

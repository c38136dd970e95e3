import t from 'tap'
import { restartWaiting } from '../bench/soak/waiting.ts'

// A short form of `npm run soak -- --only waiting`, which also checks the memory.
t.setTimeout(120_000)

t.test('waiting workflows resume after a restart, and requests are served meanwhile', async (t) => {
  for (const signal of ['SIGKILL', 'SIGTERM'] as const)
    t.match(await restartWaiting(20, signal), { unready: true, refusedAnswers: 0, stuck: 0 }, signal)
})

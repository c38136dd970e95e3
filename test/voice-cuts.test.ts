import t from 'tap'
import { cutAnswers, FORMATS } from '../bench/voice/cut-answers.ts'

t.setTimeout(60_000)

const CUTS = 25
const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)

// Also counted by `npm run bench -- --only voice`.
for (const format of FORMATS)
  t.test(`${CUTS} interruptions of ${format.type} at ${format.rate} Hz keep what was said`, async (t) => {
    t.comment(`SEED=${seed}`)
    t.same(await cutAnswers(format, CUTS, seed), { exact: CUTS, faults: [] })
  })

import t from 'tap'
import { abuseBrowser } from '../bench/soak/browser/abuse-browser.ts'
import { findChromium } from '@svc/browser'

t.setTimeout(300_000)

const skip = await findChromium().then(
  () => false as const,
  () => 'no Chromium is installed'
)

// A short form of `npm run soak -- --only browser`.
t.test('runs that end in any way leave nothing of the browser', { skip }, async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
  t.comment(`SEED=${seed}`)
  const { counts, idle, closed, faults } = await abuseBrowser(30, seed, 3)
  t.comment(JSON.stringify([...counts]))
  t.same(faults, [])
  t.same(idle, { listeners: 0, runs: 0 })
  t.same(closed, { processes: 0, files: 0, listeners: 0 })
})

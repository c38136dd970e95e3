import t from 'tap'
import { needsChromium } from '../helpers/chromium.ts'
import { fakeDns } from '../helpers/fake-dns.ts'
import { attack, CHANNELS, UNREAL } from './attack/attack.ts'
import { REBINDING } from './attack/ground.ts'

// Both attacks end as soon as all channels are done; on a busy machine some are not by then.
const DEADLINE = 20_000
t.setTimeout(4 * DEADLINE)

// CONTROL=route puts Playwright's interception in the place of no guard, and prints what passes it.
const control = process.env['CONTROL'] === 'route' ? 'route' : 'none'

t.test('no channel leads out of a desk; without a guard they do', needsChromium, async (t) => {
  fakeDns(t, Object.fromEntries(REBINDING.map((name) => [name, '127.0.0.1'])))
  const [unguarded, guarded] = await Promise.all([attack(control, DEADLINE), attack('desk', DEADLINE)])

  t.same(guarded.reached, [])
  t.same(guarded.counts, { connections: 0, requests: 0, packets: 0 })
  t.ok(guarded.tried.size >= 100, `${guarded.tried.size} channels were tried for certain`)
  t.same(new Set(guarded.blocked.map(({ reason }) => reason)), new Set(['address']))

  const real = CHANNELS.filter(({ name }) => !UNREAL.has(name)).map(({ name }) => name)
  const { reached } = unguarded
  if (control === 'route') return t.comment(`${reached.length} pass: ${reached.toSorted().join(' ')}`)
  t.ok(reached.length >= 100, `${reached.length} channels of ${real.length} reach without a guard`)
  const missing = real.filter((name) => !reached.includes(name))
  if (missing.length > 0) t.comment(`not shown to be real this time: ${missing.join(' ')}`)
})

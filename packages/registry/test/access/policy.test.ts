import type { Authorize } from '@svc/registry'
import { resolveAuthorize } from '../../src/access/policy.ts'
import t from 'tap'

const target = { kind: 'agent', name: 'a' } as const
const ada = { sub: 'ada', scopes: [] }

t.test('only `true` allows, synchronously or not', async (t) => {
  const cases: [given: unknown, decision: object][] = [
    [{ allowed: true }, { allowed: true }],
    [{ allowed: 'true' }, { allowed: false }],
    [
      { allowed: 1, missing: 'x' },
      { allowed: false, missing: 'x' }
    ],
    [
      { allowed: false, missing: 'agents:run' },
      { allowed: false, missing: 'agents:run' }
    ],
    [{ allowed: false, missing: 5 }, { allowed: false }],
    [true, { allowed: false }],
    [null, { allowed: false }],
    [undefined, { allowed: false }]
  ]
  for (const [given, decision] of cases) {
    t.strictSame(resolveAuthorize((() => given) as Authorize)(ada, 'run', target), decision)
    t.strictSame(await resolveAuthorize((async () => given) as Authorize)(ada, 'run', target), decision)
  }
})

t.test('without a policy: everything but administration', async (t) => {
  const authorize = resolveAuthorize()
  for (const action of ['run', 'read', 'answer'] as const)
    t.strictSame(authorize(ada, action, target), { allowed: true })
  t.strictSame(authorize(ada, 'admin', target), { allowed: false })
  t.strictSame(authorize({ sub: 'root', scopes: ['admin:*'] }, 'admin', target), { allowed: true })
})

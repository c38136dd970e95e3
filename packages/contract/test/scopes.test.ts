import { cases } from '@tools/wires/volume'
import * as fc from 'fast-check'
import t from 'tap'
import { findMissingScope, grantsScope, isAdmin } from '../src/principal.ts'

t.test('a scope grants itself, a segment or everything', (t) => {
  const cases: [held: string, wanted: string, isGranted: boolean][] = [
    ['agents:run', 'agents:run', true],
    ['agents:run', 'agents:read', false],
    ['agents:run', 'agents:running', false],
    ['agents:running', 'agents:run', false],
    ['Agents:run', 'agents:run', false],
    ['agents', 'agents:run', false],
    ['*', 'agents:run', true],
    ['*', 'admin:*', true],
    ['admin:*', 'agents:run', true],
    ['admin:*', 'odd', true],
    ['admin:read', 'agents:run', false],
    ['agents:*', 'agents:run', true],
    ['agents:*', 'agents:run:deep', true],
    ['agents:*', 'agents', false],
    ['agents:*', 'agentsx:run', false],
    ['agents:*', 'teams:run', false],
    ['agents:*', 'admin:*', false],
    ['agents:*', '*', false],
    ['agents:r*', 'agents:run', false],
    ['agents:ru?', 'agents:run', false],
    ['agents:run:*', 'agents:run:deep', false],
    ['*:run', 'agents:run', false],
    ['*:*', 'agents:run', false],
    ['**', 'agents:run', false],
    [':*', ':run', false],
    ['agents:', 'agents:run', false],
    ['', 'agents:run', false],
    ['.*', 'agents:run', false],
    ['__proto__', 'constructor', false]
  ]
  for (const [held, wanted, isGranted] of cases)
    t.equal(grantsScope([held], wanted), isGranted, `"${held}" for "${wanted}"`)
  t.end()
})

t.test('all scopes are required, and the first missing one is reported', (t) => {
  t.equal(findMissingScope([], []), undefined)
  t.equal(findMissingScope(['a:*', 'b:x'], ['a:x', 'b:x']), undefined)
  t.equal(findMissingScope(['a:*'], ['a:x', 'b:x', 'c:x']), 'b:x')
  t.end()
})

t.test('two scopes grant everything', (t) => {
  for (const scope of ['*', 'admin:*']) t.ok(isAdmin(['agents:run', scope]))
  t.notOk(isAdmin(['agents:*', 'admin', 'admin:read', '**', '']))
  t.end()
})

t.test('grantsScope agrees with the rule for any scope', (t) => {
  const segment = fc.constantFrom('agents', 'teams', 'admin', 'agent', '*', 'a*', '')
  const action = fc.constantFrom('run', 'read', 'r*', '*', 'run:x', '')
  const scope = fc.oneof(
    segment,
    fc.tuple(segment, action).map(([a, b]) => `${a}:${b}`),
    fc.string({ maxLength: 8 })
  )
  const isGrantedBy = (held: string, wanted: string) => {
    if (held === wanted || held === '*' || held === 'admin:*') return true
    const [, prefix] = /^([^:]+):\*$/s.exec(held) ?? []
    return prefix !== undefined && wanted.startsWith(`${prefix}:`)
  }
  fc.assert(
    fc.property(fc.array(scope, { maxLength: 4 }), scope, (held, wanted) => {
      const isGranted = held.some((each) => isGrantedBy(each, wanted))
      return grantsScope(held, wanted) === isGranted
    }),
    { numRuns: cases(5_000) }
  )
  t.end()
})

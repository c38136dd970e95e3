import { grantsScope as grants, RUNNABLE_KINDS, type Action, type RunnableKind } from '@svc/registry'
import * as fc from 'fast-check'
import t from 'tap'
import { createScopeAuthorize, type RbacOptions } from '../../src/auth/rbac-options.ts'

const ACTIONS: readonly Action[] = ['run', 'read', 'answer', 'admin']
const allowed = { allowed: true }
const hidden = { allowed: false }
const missing = (scope: string) => ({ allowed: false, missing: scope })

/** Asks for one who is called ann. */
function asker(rbac?: RbacOptions) {
  const authorize = createScopeAuthorize(rbac)
  return (scopes: string[], action: Action, kind: RunnableKind, name: string, owner?: string) =>
    authorize({ sub: 'ann', scopes }, action, { kind, name, ...(owner !== undefined && { owner }) })
}

t.test('each action requires the scope of its kind', async (t) => {
  const ask = asker({})
  for (const kind of RUNNABLE_KINDS) {
    const scopes = { run: `${kind}s:run`, answer: `${kind}s:run`, read: `${kind}s:read`, admin: 'admin:*' }
    for (const action of ACTIONS) {
      const scope = scopes[action]
      t.strictSame(await ask([], action, kind, 'x'), missing(scope))
      t.strictSame(await ask([`${kind}s:other`, `x${scope}`], action, kind, 'x'), missing(scope))
      for (const held of [scope, '*', 'admin:*']) t.strictSame(await ask([held], action, kind, 'x'), allowed)
      const isSegment = action !== 'admin'
      t.strictSame(await ask([`${kind}s:*`], action, kind, 'x'), isSegment ? allowed : missing(scope))
    }
  }
})

t.test('a runnable’s own scopes come on top', async (t) => {
  const ask = asker({
    agentScopes: { secret: ['secret:use', 'level:2'] },
    teamScopes: { secret: ['team:secret'] },
    workflowScopes: { secret: [] }
  })
  for (const action of ['run', 'read', 'answer'] as const) {
    t.strictSame(await ask(['agents:*'], action, 'agent', 'secret'), missing('secret:use'))
    t.strictSame(await ask(['agents:*', 'secret:use'], action, 'agent', 'secret'), missing('level:2'))
    t.strictSame(await ask(['secret:use', 'level:2'], action, 'agent', 'secret'), {
      allowed: false,
      missing: action === 'read' ? 'agents:read' : 'agents:run'
    })
    t.strictSame(await ask(['agents:*', 'secret:*', 'level:2'], action, 'agent', 'secret'), allowed)
    t.strictSame(await ask(['*'], action, 'agent', 'secret'), allowed)
    t.strictSame(await ask(['teams:*'], action, 'team', 'secret'), missing('team:secret'))
    t.strictSame(await ask(['workflows:*'], action, 'workflow', 'secret'), allowed)
    for (const name of ['Secret', 'secret ', 'secret2', ''])
      t.strictSame(await ask(['agents:*'], action, 'agent', name), allowed, name)
  }
})

t.test('defaultScopes replace the scopes of a route', async (t) => {
  const ask = asker({ defaultScopes: { 'POST /agents/:name/run': ['a', 'b'], 'GET /agents/:name': [] } })
  t.strictSame(await ask(['a'], 'run', 'agent', 'x'), missing('b'))
  t.strictSame(await ask(['a', 'b'], 'answer', 'agent', 'x'), allowed)
  t.strictSame(await ask([], 'read', 'agent', 'x'), allowed)
  t.strictSame(await ask([], 'read', 'team', 'x'), missing('teams:read'))
})

t.test('names of inherited properties have no meaning', async (t) => {
  const ask = asker({ agentScopes: JSON.parse('{"__proto__":["proto:use"]}') })
  t.strictSame(await ask(['agents:run'], 'run', 'agent', '__proto__'), missing('proto:use'))
  for (const name of ['constructor', 'toString', 'hasOwnProperty', 'proto:use'])
    t.strictSame(await ask(['agents:run'], 'run', 'agent', name), allowed, name)
})

t.test('resources of other owners are hidden from all but administrators', async (t) => {
  for (const ask of [asker({}), asker()])
    for (const action of ['run', 'read', 'answer'] as const)
      for (const owner of ['bob', '']) {
        for (const scopes of [[], ['agents:*'], ['approvals:read', 'runs:*']])
          t.strictSame(await ask(scopes, action, 'agent', 'x', owner), hidden)
        for (const scope of ['*', 'admin:*'])
          t.strictSame(await ask([scope], action, 'agent', 'x', owner), allowed)
        const answerer = ['agents:*', 'approvals:answer']
        t.strictSame(await ask(answerer, action, 'agent', 'x', owner), action === 'answer' ? allowed : hidden)
      }
  const ask = asker({})
  t.strictSame(await ask(['approvals:answer'], 'answer', 'agent', 'x', 'bob'), missing('agents:run'))
  t.strictSame(await ask(['agents:*'], 'read', 'agent', 'x', 'ann'), allowed)
  t.strictSame(await ask([], 'read', 'agent', 'x', 'ann'), missing('agents:read'))
  t.strictSame(await ask(['admin:*'], 'admin', 'agent', 'x', 'bob'), allowed)
  t.strictSame(await ask(['agents:*'], 'admin', 'agent', 'x', 'ann'), missing('admin:*'))
})

t.test('without rbac only admin requires a scope', async (t) => {
  const ask = asker()
  for (const action of ['run', 'read', 'answer'] as const)
    t.strictSame(await ask([], action, 'agent', 'x'), allowed)
  t.strictSame(await ask([], 'admin', 'agent', 'x'), missing('admin:*'))
  t.strictSame(await ask(['admin:*'], 'admin', 'agent', 'x'), allowed)
})

t.test('a caller is allowed if and only if it has every scope', async (t) => {
  const scope = fc.constantFrom('agents:run', 'agents:read', 'agents:*', 'teams:run', 'x:1', 'x:*', 'x*', '*')
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(scope),
      fc.uniqueArray(scope),
      fc.uniqueArray(scope),
      async (held, route, own) => {
        const ask = asker({ defaultScopes: { 'POST /agents/:name/run': route }, agentScopes: { a: own } })
        const decision = await ask(held, 'run', 'agent', 'a')
        const lacking = [...route, ...own].filter((wanted) => !grants(held, wanted))
        t.strictSame(decision, lacking[0] === undefined ? allowed : missing(lacking[0]))
      }
    )
  )
})

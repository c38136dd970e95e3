import t from 'tap'
import { resolveRbacOptions, ROUTE_SCOPES, type RbacOptions } from '../../src/auth/rbac-options.ts'

const routesOf = (defaultScopes: RbacOptions['defaultScopes']) =>
  Object.fromEntries(resolveRbacOptions({ ...(defaultScopes && { defaultScopes }) }).routes)

t.test('an option that is unknown or bad is named', (t) => {
  const bad: [options: unknown, says: RegExp][] = [
    [true, /object/i],
    [null, /object/i],
    [[], /object/i],
    [{ scopes: 'x' }, /scopes/],
    [{ scopeField: '' }, /scopeField/],
    [{ scopeField: ['a'] }, /scopeField/],
    [{ defaultScopes: [] }, /defaultScopes/],
    [{ defaultScopes: { 'GET /agents': 'agents:read' } }, /defaultScopes/],
    [{ defaultScopes: { 'GET /agents': [''] } }, /defaultScopes/],
    [{ defaultScopes: { 'GET /agents': ['a b'] } }, /defaultScopes/],
    [{ defaultScopes: { 'get /agents': [] } }, /no route "get \/agents"/],
    [{ defaultScopes: { 'POST /agents/run': [] } }, /no route "POST \/agents\/run"/],
    [{ defaultScopes: { '/agents': [] } }, /no route/],
    [{ defaultScopes: { constructor: [] } }, /no route "constructor"/],
    [{ defaultScopes: JSON.parse('{"__proto__":[]}') }, /no route "__proto__"/],
    [{ agentScopes: { a: 'x' } }, /agentScopes/],
    [{ teamScopes: { a: [1] } }, /teamScopes/],
    [{ workflowScopes: [] }, /workflowScopes/]
  ]
  for (const [options, says] of bad)
    t.throws(
      () => resolveRbacOptions(options as RbacOptions),
      { code: 'HTTP_ERR_BAD_OPTION', message: says },
      JSON.stringify(options)
    )
  t.end()
})

t.test('what is given lies over the built-in map', (t) => {
  t.strictSame(routesOf(undefined), ROUTE_SCOPES)
  t.strictSame(routesOf({ 'GET /runs': ['runs:read'], 'GET /teams/:name': [] }), {
    ...ROUTE_SCOPES,
    'GET /runs': ['runs:read'],
    'GET /teams/:name': []
  })
  t.end()
})

t.test('a route cannot be gone around by its twin', (t) => {
  t.strictSame(routesOf({ 'POST /agents/:name/run': ['x'], 'GET /agents': ['y'] }), {
    ...ROUTE_SCOPES,
    'POST /agents/:name/run': ['x'],
    'POST /agents/:name/stream': ['x'],
    'GET /agents': ['y'],
    'GET /agents/:name': ['y']
  })
  const both = routesOf({ 'POST /teams/:name/stream': ['z'], 'POST /teams/:name/run': ['x'] })
  t.strictSame(both['POST /teams/:name/stream'], ['z'], 'unless it is named itself')
  t.end()
})

t.test('options are not changed, nor followed afterwards', (t) => {
  const scopes = ['x']
  const { named, routes, scopeField } = resolveRbacOptions(
    Object.freeze({ agentScopes: { a: scopes }, defaultScopes: { 'GET /runs': scopes } })
  )
  scopes.push('y')
  t.strictSame(named.agent.get('a'), ['x'])
  t.strictSame(routes.get('GET /runs'), ['x'])
  t.equal(scopeField, 'scopes')
  t.end()
})

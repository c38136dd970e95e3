import t from 'tap'
import { resolveRbacOptions, ROUTE_SCOPES, type RbacOptions } from '../../src/auth/rbac-options.ts'

const routesOf = (defaultScopes: RbacOptions['defaultScopes']) =>
  Object.fromEntries(resolveRbacOptions({ ...(defaultScopes && { defaultScopes }) }).routes)

t.test('options may be inherited: a getter of a class counts', (t) => {
  class Config {
    get agentScopes() {
      return { echo: ['echo:run'] }
    }
  }
  t.strictSame(resolveRbacOptions(new Config()).named.agent.get('echo'), ['echo:run'])
  t.end()
})

t.test('an unknown or invalid option is named', (t) => {
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
    [{ defaultScopes: { 'GET /agents/*': [] } }, /no route/],
    [{ defaultScopes: { 'PUT /admin/*': [] } }, /no route "PUT \/admin\/\*"/],
    [{ defaultScopes: { 'GET,POST /admin/*': [] } }, /no route/],
    [{ defaultScopes: { '/admin': [] } }, /no route/],
    [{ defaultScopes: { '/admin/*/x': [] } }, /no route/],
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

t.test('given scopes override the built-in map', (t) => {
  t.strictSame(routesOf(undefined), ROUTE_SCOPES)
  t.strictSame(routesOf({ 'GET /runs': ['runs:read'], 'GET /teams/:name': [] }), {
    ...ROUTE_SCOPES,
    'GET /runs': ['runs:read'],
    'GET /teams/:name': []
  })
  t.end()
})

t.test('run and stream share their guard', (t) => {
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

t.test('/admin/* covers all routes of administration, or those of its methods', (t) => {
  const admin = Object.keys(ROUTE_SCOPES).filter((route) => route.includes(' /admin/'))
  const replaced = (routes: string[], scopes: string[]) => ({
    ...ROUTE_SCOPES,
    ...Object.fromEntries(routes.map((route) => [route, scopes]))
  })
  for (const key of ['/admin/*', 'GET, POST, DELETE /admin/*', 'GET, DELETE /admin/*'])
    t.strictSame(routesOf({ [key]: ['ops'] }), replaced(admin, ['ops']), key)
  for (const method of ['GET', 'DELETE'])
    t.strictSame(
      routesOf({ [`${method} /admin/*`]: ['ops'] }),
      replaced(
        admin.filter((route) => route.startsWith(method)),
        ['ops']
      )
    )
  t.strictSame(routesOf({ 'POST /admin/*': ['ops'] }), ROUTE_SCOPES, 'there is none yet')
  const both = { 'GET /admin/runs': ['audit'], '/admin/*': ['ops'] }
  t.strictSame(routesOf(both)['GET /admin/runs'], ['audit'], 'unless it is named itself')
  t.strictSame(routesOf(both)['DELETE /admin/runs'], ['ops'])
  for (const keys of [
    ['GET /admin/*', '/admin/*'],
    ['/admin/*', 'GET /admin/*']
  ]) {
    const scopes = Object.fromEntries(keys.map((key) => [key, [key.startsWith('GET') ? 'read' : 'ops']]))
    t.match(routesOf(scopes), { 'GET /admin/runs': ['read'], 'DELETE /admin/runs': ['ops'] })
  }
  t.end()
})

t.test('options are copied, and not mutated', (t) => {
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

import { buildAgentCard, remoteAgent } from '@svc/a2a'
import t from 'tap'
import { SECURITY_SCHEMES } from '../helpers/security-schemes.ts'

const url = 'https://example.org/a2a'

const agent = (name: string, description?: string) => ({
  kind: 'agent' as const,
  name,
  ...(description !== undefined && { description })
})

t.test('one agent, many, or a map of them', async (t) => {
  const provider = { organization: 'We', url: 'https://example.org' }
  t.match(buildAgentCard(agent('ada', 'Counts'), 'https://example.org/a2a', provider), {
    name: 'ada',
    description: '1 agent: ada. Counts',
    url: 'https://example.org/a2a',
    version: '1.0.0',
    provider,
    capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: true },
    skills: [{ id: 'ada', name: 'ada', description: 'Counts', tags: ['agent'] }]
  })
  t.match(buildAgentCard([agent('ada'), agent('bob')], 'https://example.org/'), {
    name: 'Agent service',
    description: '2 agents: ada, bob.',
    skills: [{ id: 'ada', description: 'The agent ada' }, { id: 'bob' }]
  })
  t.match(buildAgentCard({ x: agent('ada') }, 'https://example.org/'), { skills: [{ id: 'x' }] })
})

t.test('any runnable, including one that inherits its name', async (t) => {
  class Ada {
    get kind() {
      return 'agent' as const
    }
    get name() {
      return 'ada'
    }
  }
  const far = remoteAgent({ url, name: 'far' })
  const expected = { skills: [{ id: 'ada', tags: ['agent'] }, { id: 'far' }] }
  t.match(buildAgentCard([new Ada(), far], url), expected)
  t.match(buildAgentCard({ ada: new Ada(), far }, url), expected)
  t.match(buildAgentCard(new Ada(), url), { name: 'ada' })
})

t.test('every fact is on the card', async (t) => {
  const facts = {
    name: 'Counting',
    description: 'Counts',
    version: '2.0.0',
    versions: ['1.0'],
    pushNotifications: true,
    extendedCard: true,
    extensions: [{ uri: 'urn:x', required: true }],
    securitySchemes: SECURITY_SCHEMES,
    tenant: 'ada'
  } as const
  const card = buildAgentCard(agent('ada'), url, { organization: 'We' }, facts)
  t.match(card, {
    name: 'Counting',
    description: 'Counts',
    version: '2.0.0',
    provider: { organization: 'We', url },
    capabilities: { pushNotifications: true, extendedAgentCard: true, extensions: [{ uri: 'urn:x' }] },
    supportedInterfaces: [{ url, protocolVersion: '1.0', tenant: 'ada' }, { url }]
  })
  t.strictSame(Object.keys(card['securitySchemes'] as object), Object.keys(SECURITY_SCHEMES))
})

t.test('a missing, unknown or bad argument is named by the error', async (t) => {
  const ada = agent('ada')
  const schemes = (x: unknown) => [ada, url, undefined, { securitySchemes: { x } }]
  const flow = (flows: unknown) => schemes({ type: 'oauth2', flows })
  const types = "'apiKey', 'http', 'oauth2', 'openIdConnect' or 'mutualTLS'"
  const cases: [given: unknown[], fault: string][] = [
    [
      [[], url],
      'agents: expected a list that is not empty or an object that is not empty, got an empty list'
    ],
    [
      [{}, url],
      'agents: expected a list that is not empty or an object that is not empty, got an empty object'
    ],
    [
      [undefined, url],
      'agents: expected a list that is not empty or an object that is not empty, got nothing'
    ],
    [[[ada, null], url], 'agents/1: expected an object with kind and name, got null'],
    [[{ ada: 'ada' }, url], 'agents/ada: expected an object with kind, got a string'],
    [[{ kind: 'agent' }, url], 'agents/name: expected a string, got nothing'],
    [[[{ kind: 'agent' }], url], 'agents/0/name: expected a string, got nothing'],
    [[agent(''), url], 'agents: Bad name: it is empty'],
    [[[agent('a/b')], url], 'agents: Bad name: it has a control character or one of / \\ ? # %'],
    [[{ ' ada': ada }, url], 'agents: Bad name: it begins or ends with a space'],
    [
      [{ ada, __proto__: { ada } }, url],
      'agents: Not a runnable: expected a list, or a plain object whose own keys are the names'
    ],
    [[[ada, agent('bob'), agent('ada', 'Another')], url], 'agents: two are named "ada"'],
    [
      [{ ada: { name: 'ada', kind: 'robot' } }, url],
      "agents/ada/kind: expected 'agent', 'team' or 'workflow', got another string"
    ],
    [[{ ...ada, description: 5 }, url], 'agents/description: expected a string, got an integer'],
    [[ada, undefined], 'baseUrl: expected a string, got nothing'],
    [[ada, new URL(url)], 'baseUrl: expected a string, got an object'],
    ...['', '/a2a', 'example.org/a2a', 'ftp://example.org', 'http:example.org', ' https://example.org'].map(
      (bad): [unknown[], string] => [[ada, bad], 'baseUrl: must be an absolute http or https URL']
    ),
    [[ada, url, 'We'], 'provider: expected an object with organization, got a string'],
    [[ada, url, { url }], 'provider/organization: expected a string, got nothing'],
    [[ada, url, { organization: 'We', url: 5 }], 'provider/url: expected a string, got an integer'],
    [[ada, url, { organization: 'We', href: url }], 'provider/href: no such option'],
    [[ada, url, undefined, null], 'facts: expected an object, got null'],
    [
      [ada, url, undefined, { titel: 'Ada', provider: {} }],
      'facts/titel: no such option; facts/provider: no such option'
    ],
    [
      [ada, url, undefined, { version: 2 }],
      'facts/version: expected a string that is not empty, got an integer'
    ],
    [
      [ada, url, undefined, { versions: ['2.0'] }],
      "facts/versions/0: expected '0.3' or '1.0', got another string"
    ],
    [
      [ada, url, undefined, { versions: [] }],
      'facts/versions: expected a list that is not empty, without repeats, got an empty list'
    ],
    [
      [ada, url, undefined, { extensions: [{}] }],
      'facts/extensions/0/uri: expected a string of at most 2048 characters, that matches /^[!-+\\--~]+$/, got nothing'
    ],
    [
      schemes('bearer'),
      'facts/securitySchemes/x: expected an object with type, in and name, an object with type and scheme, an object with type and flows, an object with type and openIdConnectUrl or an object with type, got a string'
    ],
    [schemes({ type: 'bearer' }), `facts/securitySchemes/x/type: expected ${types}, got another string`],
    [schemes({ scheme: 'bearer' }), `facts/securitySchemes/x/type: expected ${types}, got nothing`],
    [schemes({ type: 'http' }), 'facts/securitySchemes/x/scheme: expected a string, got nothing'],
    [
      schemes({ type: 'apiKey', in: 'body', name: 'x' }),
      "facts/securitySchemes/x/in: expected 'query', 'header' or 'cookie', got another string"
    ],
    [
      schemes({ type: 'openIdConnect', openIdConnectUrl: true }),
      'facts/securitySchemes/x/openIdConnectUrl: expected a string, got a boolean'
    ],
    [
      schemes({ type: 'mutualTLS', description: 1 }),
      'facts/securitySchemes/x/description: expected a string, got an integer'
    ],
    [flow({}), 'facts/securitySchemes/x/flows: expected an object that is not empty, got an empty object'],
    [
      flow({ password: { scopes: {} } }),
      'facts/securitySchemes/x/flows/password/tokenUrl: expected a string, got nothing'
    ],
    [flow({ magic: {} }), 'facts/securitySchemes/x/flows/magic: no such option'],
    [
      flow({ clientCredentials: { tokenUrl: url, scopes: { a: 1 } } }),
      'facts/securitySchemes/x/flows/clientCredentials/scopes/a: expected a string, got an integer'
    ]
  ]
  for (const [given, fault] of cases)
    t.throws(
      () => Reflect.apply(buildAgentCard, undefined, given),
      { code: 'A2A_ERR_BAD_OPTION', message: `Bad option: ${fault}` },
      JSON.stringify(given)
    )
})

t.test('facts that are not JSON are refused', async (t) => {
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  const card = (facts: object) => buildAgentCard(agent('ada'), url, undefined, facts)
  const cases: [facts: object, fault: string][] = [
    [{ extensions: [{ uri: 'urn:x', params: circle }] }, 'facts/extensions: must be JSON'],
    [{ extensions: [{ uri: 'urn:x', params: { big: 1n } }] }, 'facts/extensions: must be JSON'],
    [{ securitySchemes: { x: { type: 'mutualTLS', circle } } }, 'facts/securitySchemes: must be JSON']
  ]
  for (const [facts, fault] of cases)
    t.throws(() => card(facts), { code: 'A2A_ERR_BAD_OPTION', message: `Bad option: ${fault}` })
})

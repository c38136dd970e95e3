import a2a, { type A2aOptions } from '@svc/a2a'
import { createInProcessStores, type TaskStore } from '@svc/registry'
import Fastify from 'fastify'
import t from 'tap'
import { buildApp, echo, say } from './helpers/build-app.ts'

t.test('an unknown or bad option fails the registration and is named', async (t) => {
  const cases: [options: object, fault: RegExp][] = [
    [{ nonsense: 1 }, /nonsense/],
    [{ basePath: 'a2a' }, /basePath/],
    [{ basePath: '/:x' }, /basePath/],
    [{ agentPath: 'agents' }, /agentPath/],
    [{ agentPath: '/' }, /agentPath/],
    [{ agentPath: '/agents/:name' }, /agentPath/],
    [{ versions: [] }, /versions/],
    [{ versions: ['2.0'] }, /versions\/0: expected '0\.3' or '1\.0', got another string$/],
    [{ url: '/a2a' }, /url: must be an absolute http or https URL/],
    [{ url: 'ftp://example.org/' }, /url: must be an absolute http or https URL/],
    [
      { provider: { name: 'x' } },
      /provider\/organization: expected a string, got nothing; provider\/name: no such/
    ],
    [{ authorize: () => ({ allowed: true }) }, /authorize: it needs authenticate/],
    [{ extendedCard: (card: unknown) => card }, /extendedCard: it needs authenticate/],
    [{ authenticate: false, extendedCard: (card: unknown) => card }, /extendedCard: it needs authenticate/],
    [
      { pushNotifications: { attempts: 0 } },
      /pushNotifications\/attempts: expected an integer of at least 1, /
    ],
    [{ pushNotifications: 'yes' }, /pushNotifications: expected a boolean or an object, got a string$/],
    [{ authenticate: Promise.resolve() }, /authenticate: expected a function or false, got a promise$/],
    [{ limits: { bodyLimit: -1 } }, /limits\/bodyLimit|limits/],
    [{ heartbeat: 0 }, /heartbeat/],
    [{ providerKeyHeaders: { 'X-Key': 'openai' } }, /providerKeyHeaders\/X-Key: no such option, .*a-z0-9-/],
    [{ providerKeyHeaders: { 'x-key': '' } }, /providerKeyHeaders\/x-key/],
    [{ extensions: ['urn:x'] }, /extensions/],
    [{ defaultInputModes: [] }, /defaultInputModes/],
    [{ defaultInputModes: ['text'] }, /defaultInputModes\/0/],
    [{ defaultOutputModes: 'text/plain' }, /defaultOutputModes: expected a list/],
    [{ security: [{ bearer: [] }] }, /security\/0: no security scheme "bearer"; known: none$/],
    [{ security: { bearer: [] } }, /security: expected a list, got an object/],
    [{ preferredBinding: 'REST' }, /preferredBinding/],
    [{ preferredBinding: 'GRPC' }, /preferredBinding: GRPC needs the option grpc/],
    [{ additionalInterfaces: [{ url: 'x' }] }, /additionalInterfaces\/0\/protocolBinding/],
    [
      { additionalInterfaces: [{ url: '/x', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] },
      /additionalInterfaces\/0\/url: must be an absolute/
    ],
    [
      { additionalInterfaces: [{ url: 'https://x', protocolBinding: 'JSONRPC', protocolVersion: '1' }] },
      /protocolVersion/
    ],
    [{ iconUrl: '/icon.png' }, /iconUrl: must be an absolute http or https URL/],
    [{ documentationUrl: 'https://u:p@example.org' }, /documentationUrl: must have no user and no password/],
    [{ agents: [{ ...echo, card: { colour: 'red' } }] }, /agents: .*card\/colour: no such field/],
    [{ extensions: [{ required: true }] }, /extensions/],
    [{ extensions: [{ uri: 'urn:x,urn:y' }] }, /extensions/],
    [{ extensions: [{ uri: 'urn:x\r\nx: y' }] }, /extensions/],
    [{ agents: [echo, { ...echo, kind: 'team' }] }, /agents: two are named "echo"/],
    [{ agents: [{ kind: 'agent', name: 'a/b', run: () => '' }] }, /agents: /],
    [{ agents: [{ kind: 'agent', name: 'x' }] }, /agents: /]
  ]
  for (const [options, message] of cases) {
    const app = Fastify()
    await t.rejects(
      async () => app.register(a2a, options as A2aOptions),
      { code: 'A2A_ERR_BAD_OPTION', message },
      JSON.stringify(options)
    )
    await app.close()
  }
})

t.test('values that are not JSON fail the registration, not each request for the card', async (t) => {
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  const authenticate = Object.assign(() => null, { schemes: { x: { type: 'mutualTLS', circle } } })
  const cases: [options: object, fault: RegExp][] = [
    [{ extensions: [{ uri: 'urn:x', params: circle }] }, /: extensions: must be JSON$/],
    [{ extensions: [{ uri: 'urn:x', params: { big: 1n } }] }, /: extensions: must be JSON$/],
    [{ authenticate }, /: authenticate\/schemes: must be JSON$/]
  ]
  for (const [options, message] of cases) {
    const app = Fastify()
    await t.rejects(async () => app.register(a2a, options as A2aOptions), {
      code: 'A2A_ERR_BAD_OPTION',
      message
    })
    await app.close()
  }
})

t.test('a custom task store', async (t) => {
  const { tasks } = createInProcessStores()
  const app = await buildApp(t, { options: { tasks } })
  const { result } = await app.rpc('message/send', say('x'))
  t.match(await tasks.get(result.id), { agentName: 'echo', contextId: result.contextId })
  t.equal(await app.runs.stores.tasks.get(result.id), undefined)
  const inheriting = Object.create(tasks) as TaskStore
  const classy = await buildApp(t, { options: { tasks: inheriting } })
  t.match(await classy.rpc('message/send', say('x')), { result: { kind: 'task' } })
})

t.test('one version only', async (t) => {
  const current = await buildApp(t, { options: { versions: ['1.0'] } })
  t.match(await current.rpc('message/send', say('x')), { error: { code: -32009 } })
  t.equal((await fetch(`${current.url}/v1/tasks`)).status, 404)
  t.match(await current.rpc('ListTasks', {}), { result: { tasks: [] } })
  const legacy = await buildApp(t, { options: { versions: ['0.3'] } })
  t.match(await legacy.rpc('ListTasks', {}), { error: { code: -32009 } })
  t.match(await legacy.rpc('message/send', say('x')), { result: { kind: 'task' } })
  const headers = { 'a2a-version': '1.0' }
  t.match(await legacy.rpc('message/send', say('x'), headers), { error: { code: -32009 } })
})

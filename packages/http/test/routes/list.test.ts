import type { RunnableMetadata } from '@svc/registry'
import { scriptedRunnable } from '@svc/registry/testing'
import t from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'
import { requireError } from '../helpers/require-error.ts'

const describing = (metadata: object) => ({
  ...echo,
  name: 'full',
  describe: () => metadata as Partial<RunnableMetadata>
})

t.test('metadata, and nothing but metadata', async (t) => {
  const metadata = {
    kind: 'agent',
    name: 'full',
    description: 'All of it',
    model: 'some-model',
    tools: [{ name: 'add', description: 'Adds', input: { type: 'object', properties: { a: {} } } }],
    skills: [{ name: 'cook' }],
    output: { type: 'object' }
  }
  const { get } = await buildApp(t, {
    runnables: [
      describing({
        ...metadata,
        instructions: 'secret',
        apiKey: 'secret',
        tools: [{ ...metadata.tools[0], execute: 'secret' }]
      }),
      scriptedRunnable([], { kind: 'team', name: 'both' })
    ]
  })
  t.strictSame(await (await get('/agents')).json(), [metadata])
  t.strictSame(await (await get('/agents/full')).json(), metadata)
  t.strictSame(await (await get('/teams')).json(), [{ kind: 'team', name: 'both' }])
  t.strictSame(await (await get('/workflows')).json(), [])
  await requireError(t, await get('/workflows/both'), 404, 'HTTP_ERR_UNKNOWN_RUNNABLE')
})

t.test('the names of all there is', async (t) => {
  const { get } = await buildApp(t, {
    runnables: [echo, scriptedRunnable([], { kind: 'workflow', name: 'flow' })]
  })
  t.strictSame(await (await get('/registry')).json(), { agents: ['echo'], teams: [], workflows: ['flow'] })
})

t.test('names of any script', async (t) => {
  const name = 'агент 助手 🎈 & co'
  const { get, post } = await buildApp(t, { runnables: [{ ...echo, name }] })
  t.match(await (await get(`/agents/${encodeURIComponent(name)}`)).json(), { name })
  t.match(await (await post(`/agents/${encodeURIComponent(name)}/run`, { input: 'hi' })).json(), {
    text: 'hi'
  })
})

t.test('HEAD is answered like GET, other methods are refused', async (t) => {
  const { url } = await buildApp(t, { runnables: [echo] })
  for (const path of ['/agents', '/agents/echo', '/registry', '/runs', '/livez', '/readyz']) {
    const head = await fetch(url + path, { method: 'HEAD' })
    t.equal(head.status, 200, `HEAD ${path}`)
    t.equal(await head.text(), '')
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      await requireError(t, await fetch(url + path, { method }), 405, 'HTTP_ERR_METHOD_NOT_ALLOWED')
  }
  await requireError(t, await fetch(`${url}/agents/echo/run`), 405, 'HTTP_ERR_METHOD_NOT_ALLOWED')
})

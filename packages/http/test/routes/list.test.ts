import type { RunnableMetadata } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
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

t.test('the names of all runnables', async (t) => {
  const { get } = await buildApp(t, {
    runnables: [echo, scriptedRunnable([], { kind: 'workflow', name: 'flow' })]
  })
  t.strictSame(await (await get('/registry')).json(), {
    agents: ['echo'],
    teams: [],
    workflows: ['flow'],
    wires: [{ name: 'http', path: '/api' }]
  })
})

t.test('the wires of an app, with their documents', async (t) => {
  const { app, get } = await buildApp(t, { options: { swagger: true } })
  const [{ document }] = ((await (await get('/registry')).json()) as { wires: [{ document: string }] }).wires
  t.match((await app.inject(document)).json(), { openapi: '3.0.3' })
})

t.test('names of any script', async (t) => {
  const name = 'агент 助手 🎈 & co'
  const { get, post } = await buildApp(t, { runnables: [{ ...echo, name }] })
  t.match(await (await get(`/agents/${encodeURIComponent(name)}`)).json(), { name })
  t.match(await (await post(`/agents/${encodeURIComponent(name)}/run`, { input: 'hi' })).json(), {
    text: 'hi'
  })
})

t.test('HEAD is supported like GET, other methods are refused', async (t) => {
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

t.test('a list is bounded in bytes and items, with a link to its next page', async (t) => {
  const schema = { type: 'object', description: 'x'.repeat(100_000) }
  const names = Array.from({ length: 30 }, (_, index) => `agent ${index} & co`)
  const app = await buildApp(t, {
    runnables: names.map((name) => ({
      ...describing({ kind: 'agent', name, tools: [{ name: 'x', description: 'x', input: schema }] }),
      name
    }))
  })
  const readPages = async (query: string) => {
    const pages: { name: string }[][] = []
    for (let path: string | undefined = `/api/agents${query}`; path !== undefined;) {
      const response = await app.check('GET', '/agents', fetch(app.origin + path))
      const text = await response.text()
      t.ok(text.length < 1_100_000, `${text.length} bytes`)
      pages.push(JSON.parse(text) as { name: string }[])
      path = /^<(.+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1]
    }
    return pages
  }
  const byBytes = await readPages('')
  t.equal(byBytes.length, 3)
  t.same(
    byBytes.flat().map(({ name }) => name),
    names.toSorted()
  )
  t.equal((await readPages('?limit=4')).length, 8)

  const first = await app.get('/agents?limit=3')
  const [one, , last] = (await first.json()) as { name: string }[]
  for (const { name } of [one!, last!]) app.registry.remove('agent', name)
  app.registry.add({ ...echo, name: 'a' })
  const next = (await (
    await app.get(`/agents?limit=2&cursor=${encodeURIComponent(last!.name)}`)
  ).json()) as object
  t.match(next, [{ name: names.toSorted()[3] }, { name: names.toSorted()[4] }], 'whatever comes and goes')
  await requireError(t, await app.get('/agents?limit=1001'), 400, 'HTTP_ERR_VALIDATION')
})

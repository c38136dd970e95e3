import a2a from '@svc/a2a'
import gateway from '@svc/gateway'
import http from '@svc/http'
import type { RunnableDefinition } from '@svc/registry'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'

const echo = (name: string): RunnableDefinition => ({ kind: 'agent', name, run: () => `I am ${name}` })

const BAD_NAMES = [
  '',
  ' a',
  'a ',
  '.',
  '..',
  'a/b',
  'a\\b',
  'a?b',
  'a#b',
  'a%2fb',
  'a\u0000b',
  'a\nb',
  'a\u2028b'
]
BAD_NAMES.push('\ud800', 'x'.repeat(129))

const ENTRANCES: Record<string, (app: FastifyInstance, agents: unknown) => PromiseLike<unknown>> = {
  HTTP: (app, agents) => app.register(http, { agents: agents as [] }),
  GTW: (app, agents) => app.register(gateway, { agents: agents as [] }),
  A2A: (app, agents) => app.register(a2a, { agents: agents as [] })
}

for (const [prefix, register] of Object.entries(ENTRANCES)) {
  const refuses = async (agents: unknown): Promise<Error & { code?: string }> => {
    const app = Fastify()
    try {
      await register(app, agents)
    } catch (err) {
      return err as Error
    } finally {
      await app.close()
    }
    return new Error('taken')
  }

  t.test(`${prefix}: an invalid name fails the registration, in a list and in a map`, async (t) => {
    for (const [index, name] of BAD_NAMES.entries())
      for (const agents of [
        [echo(name)],
        { [name]: echo('good') },
        { good: echo('good'), [name]: echo('good') }
      ])
        t.match(
          await refuses(agents),
          { code: `${prefix}_ERR_BAD_OPTION`, message: /^Bad option: agents: Bad name: / },
          `bad name ${index}`
        )
    t.match(await refuses([echo('ada'), echo('ada')]), {
      code: `${prefix}_ERR_BAD_OPTION`,
      message: /"ada"/
    })
  })

  t.test(`${prefix}: a map with hidden runnables fails the registration`, async (t) => {
    const ada = echo('ada')
    const hiding: Record<string, unknown> = {
      'in a literal `__proto__` is the prototype': { ada, __proto__: echo('bob') },
      'a Map has no keys of its own': new Map([['ada', ada]]),
      'an instance inherits': new (class {
        get ada() {
          return ada
        }
      })()
    }
    for (const [what, agents] of Object.entries(hiding))
      t.match(
        await refuses(agents),
        { code: `${prefix}_ERR_BAD_OPTION`, message: /^Bad option: agents: .*plain object/ },
        what
      )
  })
}

t.test('the key of a map overrides the runnable’s name, even if objects inherit that key', async (t) => {
  const names = ['constructor', '__proto__', 'toString', 'other']
  const maps = [
    Object.fromEntries(names.map((name) => [name, echo('ada')])),
    Object.assign(Object.create(null), { other: echo('ada'), constructor: echo('ada') }) as object
  ]
  for (const agents of maps) {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(http, { agents: agents as [], registry: false })
    await app.register(a2a, { agents: agents as [], basePath: '/a2a' })
    for (const name of Object.keys(agents)) {
      const payload = { input: 'x' }
      const run = await app.inject({ method: 'POST', url: `/agents/${name}/run`, payload })
      t.match(run.json(), { text: 'I am ada' }, name)
      const message = { role: 'user', parts: [{ kind: 'text', text: 'x' }], metadata: { agentName: name } }
      const body = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }
      const sent = await app.inject({ method: 'POST', url: '/a2a', payload: body })
      t.match(sent.json(), { result: { metadata: { agentName: name } } })
    }
    t.equal(
      (await app.inject({ method: 'POST', url: '/agents/ada/run', payload: { input: 'x' } })).statusCode,
      404
    )
  }
})

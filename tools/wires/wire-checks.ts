import { once } from 'node:events'
import { connect } from 'node:net'
import { scriptedRunnable } from '@svc/testing'
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import type { Test } from 'tap'
import { PNG } from './agents.ts'

/** An agent that says hello. */
export const parrot = scriptedRunnable([{ type: 'text', text: 'Hello' }], { name: 'parrot' })

/** Checks that the plugin of a wire refuses unknown options, and brings an engine to an app that has none. */
export async function checkPlugin<Options extends object>(
  t: Test,
  plugin: FastifyPluginAsync<Options & { agents?: readonly (typeof parrot)[] }>,
  code: string
): Promise<void> {
  const make = (): FastifyInstance => {
    const app = Fastify()
    t.teardown(() => app.close())
    return app
  }
  await t.rejects(Promise.resolve(make().register(plugin, { bodyLimits: 1 } as never)), { code })
  const app = make()
  await app.register(plugin, { agents: [parrot] } as never)
  await app.ready()
  t.ok(app.runs)
}

/** Begins a request whose body breaks off, and sends another one whose client leaves at once. */
export async function leaveEarly(t: Test, url: string, body: object): Promise<void> {
  const { port, pathname } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  await once(socket, 'connect')
  const headers = 'host: x\r\ncontent-type: application/json\r\ncontent-length: 99'
  socket.write(`POST ${pathname} HTTP/1.1\r\n${headers}\r\n\r\n{"id"`)
  socket.destroy()
  const leaving = new AbortController()
  const request = fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: leaving.signal
  })
  leaving.abort()
  await t.rejects(request)
}

/** Checks that a URL has the file of `painter` for `ann` alone. */
export async function checkOwnFile(t: Test, url: string): Promise<void> {
  const as = (token: string) => fetch(url, { headers: { authorization: `Bearer ${token}` } })
  const found = await as('ann')
  t.equal(found.headers.get('content-type'), 'image/png')
  t.equal(Buffer.from(await found.arrayBuffer()).toString('base64'), PNG)
  t.equal((await fetch(url)).status, 401)
  t.equal((await as('bob')).status, 404)
}

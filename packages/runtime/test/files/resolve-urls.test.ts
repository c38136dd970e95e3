import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInProcessStores } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { urlSupportOf } from '../../src/files/urls.ts'
import { collect, makeContext } from '../helpers/make-agent.ts'

async function serve(t: { teardown(fn: () => unknown): void }) {
  let asked = 0
  const server = createServer((_request, reply) => (asked++, reply.end('bytes')))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => (server.closeAllConnections(), server.close()))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return { host, url: `http://${host}/a.png`, asked: () => asked }
}
const image = (url: string) => [{ type: 'image' as const, mimeType: 'image/png', filename: 'a.png', url }]
const agentOf = (supportedUrls: Record<string, RegExp[]>, allowHosts: string[] = []) => {
  const model = scriptedModel('Seen.', { supportedUrls })
  return { model, agent: new Agent({ name: 'tester', model, register: false, urls: { allowHosts } }) }
}
const firstPart = (model: ReturnType<typeof scriptedModel>, call = 0) =>
  model.calls[call]!.prompt.findLast(({ role }) => role === 'user')?.content[0]

t.test('a URL that the model supports is passed on, not fetched', async (t) => {
  const { model, agent } = agentOf({ 'image/*': [/^https:\/\/example\.org\//] })
  await agent.run(image('https://example.org/a.png'), makeContext().context)
  t.match(firstPart(model), {
    type: 'file',
    data: { type: 'url', url: new URL('https://example.org/a.png') }
  })
})

t.test('other URLs are fetched: the model receives the bytes, the session keeps the URL', async (t) => {
  const { host, url, asked } = await serve(t)
  const { model, agent } = agentOf({ 'application/pdf': [/./] }, [host])
  const stores = createInProcessStores()
  await agent.run(image(url), makeContext({ stores, sessionId: 's' }).context)
  t.match(firstPart(model), {
    type: 'file',
    mediaType: 'image/png',
    filename: 'a.png',
    data: { type: 'data', data: Buffer.from('bytes').toString('base64') }
  })
  const key = {
    registry: 'global',
    owner: 'anonymous',
    kind: 'agent' as const,
    name: 'tester',
    sessionId: 's'
  }
  t.strictSame((await stores.sessions.load(key, 10))[0], { role: 'user', content: image(url) })
  await agent.run('And now?', makeContext({ stores, sessionId: 's' }).context)
  t.match(JSON.stringify(model.calls[1]?.prompt[0]), `[image a.png, image/png, ${url}, sent earlier]`)
  t.equal(asked(), 1, 'what was sent earlier is not fetched again')
})

t.test('a private URL is neither fetched nor passed on', async (t) => {
  const { url, asked } = await serve(t)
  for (const supported of [{}, { '*/*': [/./] }]) {
    const { model, agent } = agentOf(supported)
    const run = await collect(agent.stream(image(url), makeContext().context))
    t.match(run.error, { code: 'RUN_ERR_URL_REFUSED', statusCode: 400 })
    t.equal(model.calls.length, 0)
  }
  t.equal(asked(), 0)
})

t.test('the URLs that a model supports', async (t) => {
  const supports = async (supportedUrls: unknown, url: string, type: string) =>
    (await urlSupportOf({ supportedUrls } as never))(new URL(url), type)
  const url = 'https://example.org/Case'
  t.equal(await supports({ '*': [/^https/] }, url, 'a/b'), true)
  t.equal(await supports({ '*/*': [/^https/] }, url, 'a/b'), true)
  t.equal(await supports({ 'Image/*': [/Case$/] }, url, 'IMAGE/png'), true)
  t.equal(await supports({ 'image/png': [/./] }, url, 'image/jpeg'), false)
  t.equal(await supports({ 'image/*': [/^http:/] }, url, 'image/png'), false)
  t.equal(await supports(Promise.resolve({ 'image/*': [/./g] }), url, 'image/png'), true)
  t.equal(await supports(undefined, url, 'image/png'), false)
})

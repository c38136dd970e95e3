import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { request } from 'node:http'
import { resolve } from 'node:path'
import { Type } from '@sinclair/typebox'
import type { RunContext } from '@svc/registry'
import { build } from 'esbuild'
import Fastify from 'fastify'
import { chromium } from 'playwright-core'
import t from 'tap'
import { mcpApp } from '../helpers/mcp-app.ts'

const PACKAGE = resolve(import.meta.dirname, '../..')
const PLACES = [process.env['CHROMIUM_PATH'], '/usr/bin/chromium-headless-shell', '/usr/bin/chromium']
const executablePath = PLACES.find((place) => place !== undefined && existsSync(place))
const PAGE = 'https://app.example.com'
const AUTH = { authorizationServers: ['https://auth.example.com'] }

const asker = {
  kind: 'agent' as const,
  name: 'asker',
  run: async (input: unknown, context: RunContext) => {
    const schema = Type.Object({ color: Type.String() })
    const { content } = await context.ask({ message: 'Which color?', schema })
    return `${String(input)} in ${content?.color}`
  }
}
const authenticate = ({ token }: { token?: string }) =>
  token === undefined ? null : { sub: token, scopes: [] }

/** Calls an agent from a page with the official client. */
const SCRIPT = `
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
window.call = async (url, token, mode) => {
  const client = new Client(
    { name: 'page', version: '1.0.0' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } }
  )
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { color: 'red' } }))
  const headers = token === undefined ? {} : { authorization: 'Bearer ' + token }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  const { content } = await client.callTool({ name: 'asker', arguments: { message: 'A hat' } })
  await client.close()
  return content[0].text
}
window.challengeOf = async (url) => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const refused = await fetch(url, { method: 'POST', headers, body })
  const [, metadata] = /resource_metadata="([^"]*)"/.exec(refused.headers.get('www-authenticate'))
  return (await fetch(metadata, { headers: { 'mcp-protocol-version': '2025-11-25' } })).json()
}`

t.test(
  'a page of another origin uses the official client in Chromium',
  { skip: executablePath === undefined && 'no Chromium is installed; see CHROMIUM_PATH', timeout: 60_000 },
  async (t) => {
    const { outputFiles } = await build({
      stdin: { contents: SCRIPT, resolveDir: PACKAGE },
      bundle: true,
      write: false,
      format: 'esm',
      platform: 'browser',
      logLevel: 'silent'
    })
    const site = Fastify({ forceCloseConnections: true })
    site.get('/page.js', (_, reply) => reply.type('text/javascript').send(outputFiles[0]!.text))
    site.get('/', (_, reply) =>
      reply.type('text/html').send('<script type="module" src="/page.js"></script>')
    )
    const page = await site.listen({ port: 0, host: '127.0.0.1' })
    t.teardown(() => site.close())
    const { url } = await mcpApp(t, {
      runnables: [asker],
      options: { prefix: '/api', origins: [page], ...AUTH },
      engine: { authenticate }
    })
    const closed = await mcpApp(t, { runnables: [asker] })

    const browser = await chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox'] })
    t.teardown(() => browser.close())
    const tab = await browser.newPage()
    await tab.goto(page)
    await tab.waitForFunction('window.call')
    const evaluate = (fn: string, ...args: unknown[]) => tab.evaluate(`${fn}(...${JSON.stringify(args)})`)
    t.equal(await evaluate('call', url, 'ann', { pin: '2026-07-28' }), 'A hat in red')
    t.equal(await evaluate('call', url, 'ann', 'legacy'), 'A hat in red')
    t.match(await evaluate('challengeOf', url), {
      resource: url,
      authorization_servers: AUTH.authorizationServers
    })
    await t.rejects(evaluate('call', closed.url, undefined, 'legacy'), /Failed to fetch/)
  }
)

t.test('preflights of given origins are answered without a token, those of others are refused', async (t) => {
  const { url, origin } = await mcpApp(t, {
    options: { origins: [PAGE], ...AUTH },
    engine: { authenticate }
  })
  const preflight = (to: string, from: string) =>
    fetch(to, {
      method: 'OPTIONS',
      headers: {
        origin: from,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,mcp-method,mcp-param-city'
      }
    })
  const allowed = await preflight(url, PAGE)
  t.equal(allowed.status, 204)
  t.match(Object.fromEntries(allowed.headers), {
    'access-control-allow-origin': PAGE,
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': 'authorization,mcp-method,mcp-param-city',
    vary: 'origin'
  })
  t.notOk(allowed.headers.has('access-control-allow-credentials'))
  for (const from of ['https://evil.example.com', 'null', 'https://app.example.com.evil.com']) {
    const refused = await preflight(url, from)
    t.equal(refused.status, 403, from)
    t.notOk(refused.headers.has('access-control-allow-origin'), from)
  }
  const metadata = await preflight(
    `${origin}/.well-known/oauth-protected-resource/mcp`,
    'https://any.example.com'
  )
  t.match([metadata.status, metadata.headers.get('access-control-allow-origin')], [204, '*'])
})

t.test('pages of other origins are refused, and names that lead here by DNS', async (t) => {
  const { url, origin } = await mcpApp(t, { runnables: [asker], options: { origins: [PAGE], ...AUTH } })
  /** The status and code of a request with these headers, which browsers alone set. */
  const statusOf = async (headers: Record<string, string>) => {
    const sent = request(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers
      }
    })
    sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }))
    const [reply] = (await once(sent, 'response')) as [NodeJS.ReadableStream & { statusCode: number }]
    reply.resume()
    return reply.statusCode
  }
  const { port } = new URL(origin)
  const named = `evil.example.com:${port}`
  t.equal(await statusOf({ origin: 'https://evil.example.com' }), 403)
  t.equal(await statusOf({ origin: 'null' }), 403)
  t.equal(await statusOf({ origin: `http://${named}`, host: named }), 403)
  t.equal(await statusOf({ origin }), 200)
  t.equal(await statusOf({ origin: `http://localhost:${port}`, host: `localhost:${port}` }), 200)
  t.equal(await statusOf({ origin: PAGE }), 200)
  t.equal(await statusOf({ origin, host: 'not a host' }), 403)
  t.equal(await statusOf({ host: 'not a host' }), 403, 'nor is it a name of this machine')
})

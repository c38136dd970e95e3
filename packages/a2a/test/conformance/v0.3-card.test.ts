import t from 'tap'
import { buildApp, say } from '../helpers/build-app.ts'

interface Card {
  url: string
  preferredTransport: string
  additionalInterfaces: { url: string; transport: string }[]
  skills: { tags: string[] }[]
}

t.test('each transport that the card names answers at the URL beside it', async (t) => {
  for (const basePath of ['/a2a', '/', '/deep/in'])
    for (const versions of [['0.3'], ['0.3', '1.0']] as const) {
      const { origin } = await buildApp(t, { options: { basePath, versions: [...versions] } })
      const card = (await (await fetch(`${origin}/.well-known/agent-card.json`)).json()) as Card
      t.equal(card.preferredTransport, 'JSONRPC')
      t.match(card.additionalInterfaces, [
        { url: card.url, transport: 'JSONRPC' },
        { transport: 'HTTP+JSON' }
      ])
      t.equal(new Set(card.additionalInterfaces.map(({ transport }) => transport)).size, 2)
      const ask = {
        JSONRPC: (url: string) =>
          fetch(url, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params: say('x') })
          }),
        'HTTP+JSON': (url: string) => fetch(`${url}/v1/tasks`)
      }
      for (const { url, transport } of card.additionalInterfaces) {
        const response = await ask[transport as keyof typeof ask](url)
        t.equal(response.status, 200, `${transport} ${url}`)
        t.match(
          await response.json(),
          transport === 'JSONRPC' ? { result: { kind: 'task' } } : { tasks: [{}] }
        )
      }
    }
})

t.test('each interface of a card of 1.0 answers at its URL, in its version', async (t) => {
  for (const basePath of ['/a2a', '/']) {
    const { origin } = await buildApp(t, { options: { basePath } })
    const headers = { 'a2a-version': '1.0' }
    const card = (await (await fetch(`${origin}/.well-known/agent-card.json`, { headers })).json()) as {
      supportedInterfaces: { url: string; protocolBinding: string; protocolVersion: string }[]
    }
    t.same(
      card.supportedInterfaces.map(
        ({ protocolBinding, protocolVersion }) => `${protocolBinding} ${protocolVersion}`
      ),
      ['JSONRPC 1.0', 'HTTP+JSON 1.0', 'JSONRPC 0.3', 'HTTP+JSON 0.3'],
      'the preferred one first'
    )
    for (const { url, protocolBinding, protocolVersion } of card.supportedInterfaces) {
      const isOld = protocolVersion === '0.3'
      const version = { 'a2a-version': protocolVersion }
      const method = isOld ? 'tasks/list' : 'ListTasks'
      const response =
        protocolBinding === 'JSONRPC'
          ? await fetch(url, {
              method: 'POST',
              headers: { 'content-type': 'application/json', ...version },
              body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} })
            })
          : await fetch(`${url}${isOld ? '/v1' : ''}/tasks`, { headers: version })
      const body = (await response.json()) as { result?: object }
      t.match(body.result ?? body, { tasks: [], totalSize: 0 }, `${protocolBinding} ${protocolVersion}`)
    }
  }
})

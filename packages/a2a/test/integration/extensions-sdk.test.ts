import {
  ClientFactory as CurrentFactory,
  ServiceParameters as CurrentParameters,
  withA2AExtensions as withCurrent
} from '@a2a-js/sdk/client'
import {
  ClientFactory as LegacyFactory,
  ServiceParameters as LegacyParameters,
  withA2AExtensions as withLegacy
} from 'a2a-sdk-v0.3/client'
import t from 'tap'
import { buildApp } from '../helpers/build-app.ts'

const uri = 'https://example.org/ext/needed/v1'
const options = { extensions: [{ uri, required: true, params: { a: 1 } }] }

/** A fetch that records responses. */
function watch() {
  const seen: (string | null)[] = []
  const fetchImpl: typeof fetch = async (...args) => {
    const response = await fetch(...args)
    seen.push(response.headers.get('a2a-extensions') ?? response.headers.get('x-a2a-extensions'))
    return response
  }
  return { seen, fetchImpl }
}

for (const transport of ['JSONRPC', 'HTTP+JSON']) {
  t.test(`@a2a-js/sdk 1.x uses an extension, over ${transport}`, async (t) => {
    const { origin } = await buildApp(t, { options })
    const { seen, fetchImpl } = watch()
    const { JsonRpcTransportFactory, RestTransportFactory } = await import('@a2a-js/sdk/client')
    const factory = new CurrentFactory({
      transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
      preferredTransports: [transport]
    })
    const client = await factory.createFromUrl(origin)
    t.match((await client.getAgentCard()).capabilities?.extensions, [
      { uri, required: true, params: { a: 1 } }
    ])
    const part = { content: { $case: 'text', value: 'x' }, metadata: undefined, filename: '', mediaType: '' }
    const message = {
      messageId: crypto.randomUUID(),
      role: 1,
      parts: [part],
      contextId: '',
      taskId: '',
      metadata: undefined,
      extensions: [uri],
      referenceTaskIds: []
    }
    const request = { tenant: '', message, configuration: undefined, metadata: undefined } as never
    await t.rejects(client.sendMessage(request), { name: /ExtensionSupportRequiredError/ })
    const serviceParameters = CurrentParameters.create(withCurrent(uri, 'urn:other'))
    t.match(await client.sendMessage(request, { serviceParameters }), { status: { state: 3 } })
    const events = client.sendMessageStream(request, { serviceParameters })
    t.equal((await events.next()).value?.payload?.$case, 'task')
    for await (const _ of events);
    t.same(seen, [null, uri, uri])
  })

  t.test(`@a2a-js/sdk 0.3.x uses an extension, over ${transport}`, async (t) => {
    const { origin } = await buildApp(t, { options })
    const { seen, fetchImpl } = watch()
    const { JsonRpcTransportFactory, RestTransportFactory } = await import('a2a-sdk-v0.3/client')
    const factory = new LegacyFactory({
      transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
      preferredTransports: [transport]
    })
    const client = await factory.createFromUrl(origin)
    t.match((await client.getAgentCard()).capabilities.extensions, [
      { uri, required: true, params: { a: 1 } }
    ])
    const parts = [{ kind: 'text', text: 'x' }]
    const message = { kind: 'message', messageId: crypto.randomUUID(), role: 'user', parts }
    const request = { message } as never
    await t.rejects(client.sendMessage(request), { message: /needed\/v1/ })
    const serviceParameters = LegacyParameters.create(withLegacy(uri, 'urn:other'))
    t.match(await client.sendMessage(request, { serviceParameters }), { status: { state: 'completed' } })
    const events = client.sendMessageStream(request, { serviceParameters })
    t.match((await events.next()).value, { kind: 'task' })
    for await (const _ of events);
    t.same(seen, [null, uri, uri])
  })
}

import { Type } from '@sinclair/typebox'
import t from 'tap'
import { connect, mcpApp, REVISIONS } from '../helpers/mcp-app.ts'

const echo = {
  kind: 'agent' as const,
  name: 'echo',
  description: 'Says it again',
  async *stream(input: unknown) {
    yield { type: 'text' as const, text: 'You said: ' }
    yield { type: 'text' as const, text: String(input) }
  }
}
const add = {
  kind: 'workflow' as const,
  name: 'add',
  inputSchema: Type.Object({ a: Type.Number(), b: Type.Number() }),
  describe: () => ({ output: Type.Object({ sum: Type.Number() }) }),
  run: (input: unknown) => {
    const { a, b } = input as { a: number; b: number }
    return { text: '', structured: { sum: a + b } }
  }
}
const broken = {
  kind: 'agent' as const,
  name: 'broken',
  run: () => {
    throw new Error('a secret')
  }
}

for (const revision of REVISIONS)
  void t.test(`${revision}: tools are listed and called`, async (t) => {
    const { url } = await mcpApp(t, { runnables: [echo, add, broken] })
    const client = await connect(t, url, { revision })
    t.equal(client.getNegotiatedProtocolVersion(), revision)
    const { tools } = await client.listTools()
    t.match(tools.map(({ name }) => name).sort(), ['broken', 'echo', 'workflow_add'])
    t.match(
      tools.find(({ name }) => name === 'workflow_add'),
      { inputSchema: { type: 'object', required: ['a', 'b'] }, outputSchema: { type: 'object' } }
    )

    const said = await client.callTool({ name: 'echo', arguments: { message: 'hello' } })
    t.match(said.content, [{ type: 'text', text: 'You said: hello' }])
    t.notOk(said.isError)
    const added = await client.callTool({ name: 'workflow_add', arguments: { a: 1, b: 2 } })
    t.match(added.structuredContent, { sum: 3 })
    t.match(added.content, [{ type: 'text', text: '{"sum":3}' }])

    const failed = await client.callTool({ name: 'broken', arguments: { message: 'x' } })
    t.equal(failed.isError, true)
    t.notMatch(JSON.stringify(failed), 'a secret')
    const bad = await client.callTool({ name: 'workflow_add', arguments: { a: 'one', b: 2 } })
    t.equal(bad.isError, true, 'the model reads what is wrong')
    t.match(bad, { _meta: { code: 'RUN_ERR_BAD_INPUT' } })
    await t.rejects(client.callTool({ name: 'nobody', arguments: {} }), { code: -32602 })
  })

import { readFile } from 'node:fs/promises'
import { callsOf } from '@tools/wires/agents'
import type OpenAI from 'openai'
import type { ResponseCreateParamsStreaming, ResponseOutputItem } from 'openai/resources/responses/responses'
import t from 'tap'
import { supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'

const request = JSON.parse(
  await readFile(new URL('../fixtures/codex-request.json', import.meta.url), 'utf8')
) as ResponseCreateParamsStreaming

/** A turn as Codex does it: the items of a stream, each once it is done, up to the end of the response. */
async function turn(client: OpenAI, input: unknown[]): Promise<ResponseOutputItem[]> {
  const stream = await client.responses.create({ ...request, input, stream: true } as typeof request)
  const items: ResponseOutputItem[] = []
  let last = ''
  for await (const event of stream) {
    if (event.type === 'response.output_item.done') items.push(event.item)
    last = event.type
  }
  if (last !== 'response.completed') throw new Error(`it ends with ${last}`)
  return items
}

t.test('Codex: its own tools, kinds of items and tools that are not served here, two turns', async (t) => {
  const { add, model } = supportAgent([
    'Hello',
    callsOf(['weather', { city: 'Oslo' }]),
    { text: 'I look', ...callsOf(['exec_command', { cmd: 'ls' }]) },
    'There is a.txt',
    'Bye'
  ])
  const { client } = await openAiApp(t, { add })
  const openai = client()
  const whole = await openai.responses.create({ ...request, stream: false })
  t.match(whole, { status: 'completed', tools: [{ type: 'function', name: 'exec_command' }] })
  t.equal(whole.tools.length, 1)

  const input: unknown[] = [
    ...(request.input as unknown[]),
    {
      type: 'tool_search_call',
      call_id: 's-1',
      execution: 'client',
      status: 'completed',
      arguments: { query: 'files', limit: 8 }
    },
    { type: 'tool_search_output', call_id: null, execution: 'server', status: 'completed', tools: [] },
    { type: 'local_shell_call', call_id: 'l-1', status: 5, action: { type: 'exec', command: ['ls'] } }
  ]
  const first = await turn(openai, input)
  t.match(
    first.map(({ type }) => type),
    ['mcp_call', 'message', 'function_call']
  )
  const call = first.find((item) => item.type === 'function_call')!
  input.push(...first, { type: 'function_call_output', call_id: call.call_id, output: 'a.txt' })
  const answer = await turn(openai, input)
  t.match(answer, [{ type: 'message', content: [{ text: 'There is a.txt' }] }])
  input.push(...answer, { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Thanks' }] })
  t.match(await turn(openai, input), [{ content: [{ text: 'Bye' }] }])
  t.match(JSON.stringify(model.calls[4]!.prompt), /List the files.*sky.*exec_command.*a\.txt.*Thanks/)
  t.same(model.calls[1]!.tools?.map(({ name }) => name).toSorted(), [
    'ask',
    'exec_command',
    'send',
    'weather'
  ])
})

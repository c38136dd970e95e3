import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { agUiApp } from '../helpers/agui-app.ts'

const RESULTS = 12
const result = { text: 'y'.repeat(3_000_000) }

void t.test(
  'threads with large results are read one after another, and small ones beside them',
  async (t) => {
    const calls = Array.from({ length: RESULTS }, (_, nth) => {
      const call = { toolCallId: `call_${nth}`, toolName: 'read' }
      return [
        { type: 'tool.call' as const, ...call, args: {} },
        { type: 'tool.result' as const, ...call, durationMs: 1, result }
      ]
    })
    const end = { type: 'text' as const, text: 'Done.' }
    const large = scriptedRunnable([...calls.flat(), end], { name: 'large' })
    const small = scriptedRunnable([end], { name: 'small' })
    const { url, app, runs } = await agUiApp(t, {
      add: (registry) => registry.add(large) && registry.add(small)
    })
    for (const each of [large, small]) await (await runs.start(each, 'Go.', { sessionId: 't' })).result()
    const read = async (name: string) => (await fetch(`${url(name)}/threads/t/connect`)).text()

    const { port } = app.server.address() as AddressInfo
    const idle = connect(port, '127.0.0.1')
    t.teardown(() => idle.destroy())
    await once(idle, 'connect')
    idle.write('GET /api/ag-ui/large/threads/t/connect HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await once(idle, 'data')
    idle.pause()

    let text = ''
    const other = fetch(`${url('large')}/threads/t/connect`).then(async ({ body }) => {
      for await (const chunk of body!.pipeThrough(new TextDecoderStream())) text += chunk
    })
    for (let nth = 0; nth < 20; nth++) t.match(await read('small'), /"delta":"Done\."/)
    t.notMatch(text, 'TOOL_CALL_RESULT', 'the other one waits')
    idle.destroy()
    await other
    t.equal(text.split('"type":"TOOL_CALL_RESULT"').length, RESULTS + 1)
  }
)

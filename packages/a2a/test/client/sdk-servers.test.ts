import { remoteAgent } from '@svc/a2a'
import { createInProcessStores, createRunEngine } from '@svc/registry'
import t from 'tap'
import { DIALECTS } from '../helpers/fake-service.ts'
import { FILE, serveSdk } from '../helpers/sdk-servers.ts'

for (const { name, version, binding } of DIALECTS)
  t.test(`the official SDK as the service, ${name}`, async (t) => {
    const { url, canceled, forget } = await serveSdk(t, version, binding)
    const stores = createInProcessStores()
    const engine = createRunEngine({ stores })
    t.teardown(() => engine.close())
    const agent = remoteAgent({ url, name: 'far' })
    const start = (input: string, sessionId?: string) =>
      engine.start(agent, input, sessionId === undefined ? {} : { sessionId })

    await t.test('its answer is streamed', async (t) => {
      const run = await start('hello')
      const texts: string[] = []
      for await (const part of run.parts()) if (part.type === 'text') texts.push(part.text)
      t.same(texts, ['You said ', 'hello'])
    })

    await t.test('a question and its answer are one task', async (t) => {
      t.equal((await (await start('ask', 'mine')).result()).text, 'Which one?')
      t.equal((await (await start('the red one', 'mine')).result()).text, 'You chose the red one.')
    })

    await t.test('a file has its bytes, type and name', async (t) => {
      const run = await start('file')
      const { text, files } = await run.result()
      t.equal(text, 'You said file')
      t.match(files, [{ mimeType: 'a/b', size: FILE.length }])
      // The SDK of 0.3 leaves the name out over HTTP+JSON.
      if (name !== '0.3 over HTTP+JSON') t.equal(files![0]!.filename, 'a.bin')
      const { content } = (await stores.files!.get(run.runId, files![0]!.fileId!))!
      const bytes: Uint8Array[] = []
      for await (const chunk of content) bytes.push(chunk)
      t.same(Buffer.concat(bytes), FILE)
    })

    await t.test('a cancel reaches the task', async (t) => {
      const run = await start('wait')
      for await (const part of run.parts()) if (part.type === 'text') break
      await run.cancel()
      while (canceled.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
      t.equal(canceled.length, 1)
    })

    await t.test('a task that it forgot is left', async (t) => {
      t.equal((await (await start('ask', 'lost')).result()).text, 'Which one?')
      forget()
      t.equal((await (await start('hello', 'lost')).result()).text, 'You said hello')
    })
  })

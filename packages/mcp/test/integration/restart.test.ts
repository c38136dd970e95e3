import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { connect } from '../helpers/mcp-app.ts'

const SERVICE = new URL('../helpers/killable-service.ts', import.meta.url).pathname

t.setTimeout(120_000)

/** A service whose processes follow each other at one address. */
class Service {
  readonly #db: string
  #child: ChildProcess | undefined
  #port = '0'

  constructor(t: Test) {
    this.#db = join(t.testdir(), 'runs.db')
    t.teardown(() => this.kill())
  }

  async start(): Promise<void> {
    const { NODE_OPTIONS: _, ...env } = process.env
    const args = ['--conditions=@svc/source', SERVICE, `sqlite:${this.#db}`, this.#port]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env })
    this.#child = child
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    this.#port = String(line).trim()
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`
  }
}

void t.test('kill -9 while a call waits for an approval: the answer reaches the next process', async (t) => {
  const service = new Service(t)
  await service.start()
  const client = await connect(t, service.url, {
    capabilities: { elicitation: { form: {} } },
    prepare: (client) =>
      client.setRequestHandler('elicitation/create', async () => {
        await service.kill()
        await service.start()
        return { action: 'accept', content: { approved: true } }
      })
  })
  const { content } = await client.callTool({ name: 'support', arguments: { message: 'Mail ann' } })
  t.match(content, [{ type: 'text', text: 'Done' }])
})

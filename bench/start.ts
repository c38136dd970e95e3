import { median, printBeside } from './figures.ts'
import { openStream } from './open-stream.ts'
import { startServer, type ServerProcess } from './server-process.ts'

/** How often each program is started for a figure. */
const STARTS = 10
/**
 * The programs beside this file, which serve the same paths. They are JavaScript, since Node's compiler of types is 16 MB and 35 ms that
 * no published app has.
 */
const NAMES = ['bare', 'ours'] as const
const agent = '/api/agents/quick'
const body = { input: 'Hi' }

interface State {
  readonly rss: number
  readonly modules: number
}

/** Shows what the start of an app with an agent over HTTP, sockets and A2A takes, beside that of Fastify with Socket.IO. */
export async function report(): Promise<void> {
  console.log(
    `\nstart of an app over HTTP, sockets and A2A, beside Fastify and Socket.IO, median of ${STARTS}\n`
  )
  const [bare, ours] = await startAll(askOnce)
  printBeside('until it has answered a request, ms', bare!.ms, ours!.ms, { times: 2.5 })
  printBeside('memory then, after a collection, MB', bare!.rss / 1e6, ours!.rss / 1e6, { times: 1.4 })
  const [bareToken, token] = await startAll(readOnce)
  printBeside('until the first token of a stream, ms', bareToken!.ms, token!.ms)
  const modules: number[] = []
  for (const name of NAMES) {
    const server = await startServer(name, 'start/count-modules.mjs')
    await askOnce(server)
    modules.push((await stateOf(server)).modules)
    await server.stop()
  }
  printBeside('modules', modules[0]!, modules[1]!, { most: 500 })
}

/** Starts the programs in turn, until each of them has done something. */
async function startAll(act: (server: ServerProcess) => Promise<unknown>) {
  const starts = NAMES.map(() => ({ ms: [] as number[], rss: [] as number[] }))
  for (let start = 0; start < STARTS; start++)
    for (const [index, name] of NAMES.entries()) {
      const begun = performance.now()
      const server = await startServer(name, `start/${name}.mjs`)
      await act(server)
      starts[index]!.ms.push(performance.now() - begun)
      starts[index]!.rss.push((await stateOf(server)).rss)
      await server.stop()
    }
  return starts.map(({ ms, rss }) => ({ ms: median(ms), rss: median(rss) }))
}

async function askOnce({ url }: ServerProcess): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${url}${agent}/run`, { method: 'POST', headers, body: JSON.stringify(body) })
  const { text } = (await response.json()) as { text?: string }
  if (text !== 'Hello.') throw new Error(`a program answered ${response.status}`)
}

async function readOnce({ url }: ServerProcess): Promise<void> {
  const reader = await openStream(url, { path: `${agent}/stream`, body })
  await reader.cancel()
}

async function stateOf({ url }: ServerProcess): Promise<State> {
  return (await (await fetch(`${url}/state`)).json()) as State
}

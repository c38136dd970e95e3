import { A2AService } from '@a2a-js/sdk/server/grpc'
import {
  credentials,
  makeGenericClientConstructor,
  Metadata,
  type Client,
  type ServiceDefinition
} from '@grpc/grpc-js'
import { median } from './figures.ts'
import { send } from './load.ts'
import { ANSWER } from './quick.ts'
import { startServer, type ServerProcess } from './server-process.ts'
import { VARIANTS } from './variants.ts'

const AMOUNT = 4_000
const CONCURRENT = 50
const KINDS = ['send', 'stream'] as const
type Kind = (typeof KINDS)[number]

/** What is measured: a server, and what its figures are divided by. */
const SERVERS = [
  { name: 'sdk-grpc', title: 'the official SDK' },
  { name: 'quick-grpc', title: 'ours' }
]

interface Task {
  artifacts: { parts: { content: { value: string } }[] }[]
}

/** The methods of the generated client that are called. */
interface A2AClient extends Client {
  sendMessage(
    request: object,
    metadata: Metadata,
    done: (err: Error | null, answer?: { payload: { value: Task } }) => void
  ): void
  sendStreamingMessage(
    request: object,
    metadata: Metadata
  ): AsyncIterable<{ payload: { $case: string; value: object } }>
}

const A2AClientClass = makeGenericClientConstructor(A2AService as unknown as ServiceDefinition, 'A2AService')

const METADATA = new Metadata()
// The official server asks for it.
METADATA.set('a2a-version', '1.0')

/** Prints what a message and a stream over gRPC cost, beside the official SDK and beside JSON-RPC. */
export async function report(rounds: number): Promise<void> {
  const servers = await Promise.all(SERVERS.map(({ name }) => startServer(name)))
  const overHttp = await startServer('quick-send-v1')
  const clients = servers.map(
    ({ url }) => new A2AClientClass(url, credentials.createInsecure()) as unknown as A2AClient
  )
  try {
    for (const kind of KINDS) {
      const cpu = servers.map((): number[] => [])
      const http: number[] = []
      for (let round = 0; round <= rounds; round++) {
        for (const [index, client] of clients.entries()) {
          const cost = await cpuOf(servers[index]!, client, kind)
          // The first one warms up.
          if (round > 0) cpu[index]!.push(cost)
        }
        if (kind === 'send') {
          const { request } = VARIANTS.find(({ name }) => name === 'quick-send-v1')!
          const { cpu: cost } = await send(overHttp, request, AMOUNT)
          if (round > 0) http.push(cost)
        }
      }
      console.log(`\nA2A 1.0 over gRPC, ${kind}: CPU in µs a call, median of ${rounds} interleaved rounds`)
      for (const [index, { title }] of SERVERS.entries()) {
        const ratio = median(cpu[index]!.map((cost, round) => cost / cpu[0]![round]!))
        console.log(
          `${title.padEnd(18)}${median(cpu[index]!).toFixed(0).padStart(8)}${`× ${ratio.toFixed(2)}`.padStart(10)}`
        )
      }
      if (http.length > 0) console.log(`${'ours, JSON-RPC'.padEnd(18)}${median(http).toFixed(0).padStart(8)}`)
    }
  } finally {
    for (const client of clients) client.close()
    for (const server of [...servers, overHttp]) await server.stop()
  }
}

async function cpuOf(server: ServerProcess, client: A2AClient, kind: Kind): Promise<number> {
  const before = server.cpu()
  let left = AMOUNT
  const work = async () => {
    while (left-- > 0) {
      const text = await (kind === 'send' ? sendOne(client) : streamOne(client))
      if (text !== ANSWER) throw new Error(`${server.variant} gives a wrong answer: ${text}`)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT }, work))
  return (server.cpu() - before) / AMOUNT
}

function sendOne(client: A2AClient): Promise<string> {
  return new Promise((resolve, reject) => {
    client.sendMessage(toRequest(), METADATA, (err, answer) => {
      if (err !== null) return reject(err)
      resolve(answer!.payload.value.artifacts.map(textOf).join(''))
    })
  })
}

async function streamOne(client: A2AClient): Promise<string> {
  let text = ''
  for await (const { payload } of client.sendStreamingMessage(toRequest(), METADATA))
    if (payload.$case === 'artifactUpdate') text += textOf((payload.value as { artifact: Artifact }).artifact)
  return text
}

type Artifact = Task['artifacts'][number]

function textOf({ parts }: Artifact): string {
  return parts.map(({ content }) => content.value).join('')
}

function toRequest(): object {
  const part = {
    content: { $case: 'text', value: 'What does the fox do?' },
    filename: '',
    mediaType: '',
    metadata: undefined
  }
  const message = {
    messageId: crypto.randomUUID(),
    contextId: '',
    taskId: '',
    role: 1,
    parts: [part],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: []
  }
  return { tenant: '', message, configuration: undefined, metadata: undefined }
}

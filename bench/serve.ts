import { once } from 'node:events'
import Fastify from 'fastify'
import { serveMemory } from './memory-route.ts'

// The server of a variant. It loads only what it serves, so that the memory of one beside another is its own.
const variant = process.argv[2] ?? ''
console.log(await serve())
await once(process, 'disconnect').catch(() => {})

async function serve(): Promise<string> {
  if (variant.startsWith('sdk-')) {
    const { serveSdk, serveSdkGrpc } = await import('./serve-sdk.ts')
    return variant === 'sdk-grpc' ? serveSdkGrpc() : serveSdk()
  }
  const app = Fastify()
  serveMemory(app)
  if (variant.startsWith('bare-')) await (await import('./serve-bare.ts')).serveBare(app, variant)
  else await (await import('./serve-agent.ts')).serveAgent(app, variant)
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  return variant === 'quick-grpc' ? grpcUrlOf(origin) : origin
}

/** The host and port of gRPC, on the card. */
async function grpcUrlOf(origin: string): Promise<string> {
  const card = (await (await fetch(`${origin}/.well-known/agent-card.json`)).json()) as {
    additionalInterfaces: { url: string; transport: string }[]
  }
  return card.additionalInterfaces.find(({ transport }) => transport === 'GRPC')!.url
}

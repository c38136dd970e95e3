import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Channel, Target } from './channel.ts'

/** The site of the attacker, which the policy allows. */
export interface Site {
  readonly origin: string
  /** The pages to open, each in a tab. */
  readonly pages: readonly string[]
  /** Names of the channels whose scripts have ended. */
  readonly settled: ReadonlySet<string>
  /** Resolves when a script ends. */
  next(): Promise<void>
  close(): Promise<void>
}

/** Serves the pages that try the channels: all of markup, scripts and frames on one page, the others on pages of their own. */
export async function openSite(
  channels: readonly Channel[],
  toTarget: (channel: Channel, site: string) => Target
): Promise<Site> {
  const settled = new Set<string>()
  let wake = Promise.withResolvers<void>()
  const server = createServer((request, reply) => {
    const url = new URL(request.url ?? '/', origin)
    const [, folder, name] = url.pathname.split('/')
    reply.setHeader('cache-control', 'no-store')
    if (folder === 'done') {
      settled.add(name!)
      wake.resolve()
      wake = Promise.withResolvers()
      reply.end()
    } else if (folder === 'redirect')
      reply.writeHead(Number(name), { location: url.searchParams.get('to')! }).end()
    else if (folder === 'worker') reply.setHeader('content-type', 'text/javascript').end(workerOf(url))
    else if (folder === 'channel')
      serveDocument(
        channels.find((each) => each.name === name)!,
        reply
      )
    else if (folder === 'all') reply.setHeader('content-type', 'text/html').end(allOf(channels, target))
    else refuse(request, reply)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const target = (channel: Channel) => toTarget(channel, origin)

  function serveDocument(channel: Channel, reply: ServerResponse): void {
    const aim = target(channel)
    const text = channel.make(aim)
    if (channel.redirect !== undefined)
      return void reply.writeHead(channel.redirect, { location: text }).end()
    reply.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...channel.headers?.(aim) }).end(text)
  }

  const documents = channels.filter(({ kind }) => kind === 'document')
  return {
    origin,
    pages: [`${origin}/all`, ...documents.map(({ name }) => `${origin}/channel/${name}`)],
    settled,
    next: () => wake.promise,
    async close() {
      server.closeAllConnections()
      const closed = once(server, 'close')
      server.close()
      await closed
    }
  }
}

function allOf(channels: readonly Channel[], target: (channel: Channel) => Target): string {
  const of = (kind: Channel['kind']) => channels.filter((channel) => channel.kind === kind)
  const scripts = of('script').map(
    (channel) => `run(${JSON.stringify(channel.name)}, async () => { ${channel.make(target(channel))} })`
  )
  return `<!doctype html><meta charset="utf-8"><title>all</title><body>
${of('markup')
  .map((channel) => channel.make(target(channel)))
  .join('\n')}
${of('frame')
  .map(({ name }) => `<iframe src="/channel/${name}"></iframe>`)
  .join('\n')}
<script>
function run(name, attempt) {
  attempt().catch(() => {}).then(() => fetch('/done/' + name, { keepalive: true }))
}
${scripts.join('\n').replaceAll('</script', '<\\/script')}
</script>`
}

function workerOf({ searchParams }: URL): string {
  const [to, imported] = [searchParams.get('to'), searchParams.get('import')]
  if (imported !== null) return `importScripts(${JSON.stringify(imported)})`
  return to === null
    ? ''
    : `addEventListener('install', (event) => event.waitUntil(fetch(${JSON.stringify(to)})))`
}

function refuse(_request: IncomingMessage, reply: ServerResponse): void {
  reply.writeHead(404, { 'content-type': 'text/html' }).end('none')
}

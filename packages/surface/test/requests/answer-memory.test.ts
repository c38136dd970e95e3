import { EventEmitter, once } from 'node:events'
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { codeOf } from '@svc/contract'
import t from 'tap'
import { AnswerMemory } from '../../src/requests/answer-memory.ts'

const MEGABYTE = 1_000_000

/** A reply that ends when it is told to. */
function reply(): ServerResponse {
  return new EventEmitter() as ServerResponse
}

function end(of: ServerResponse): void {
  of.emit('finish')
  of.emit('close')
}

void t.test('owners take turns, and a large answer is in memory alone', async (t) => {
  const memory = new AnswerMemory(5 * MEGABYTE)
  const order: string[] = []
  const held = [reply(), reply()]
  t.equal(memory.reserve(held[0]!, 'a', 3 * MEGABYTE), undefined)
  t.equal(memory.reserve(held[1]!, 'a', 2 * MEGABYTE), undefined)
  t.equal(memory.reserve(reply(), 'b', 1_000), undefined, 'small ones are not counted')
  t.equal(memory.held, 5 * MEGABYTE)
  const waiting = ['a1', 'a2', 'b1', 'b2', 'c1'].map((name) => {
    const own = reply()
    const begun = memory.reserve(own, name[0]!, 4 * MEGABYTE)?.then(() => order.push(name))
    return { own, begun }
  })
  end(held[1]!)
  await Promise.resolve()
  t.same(order, [], 'none fits beside the first one')
  end(held[0]!)
  for (const at of [0, 2, 4, 1, 3]) {
    await waiting[at]!.begun
    t.equal(memory.held, 4 * MEGABYTE)
    end(waiting[at]!.own)
  }
  t.same(order, ['a1', 'b1', 'c1', 'a2', 'b2'])
  const huge = reply()
  t.equal(memory.reserve(huge, 'a', 50 * MEGABYTE), undefined, 'larger than all of the memory')
  end(huge)
  t.equal(memory.held, 0)
})

void t.test('a client that leaves does not wait', async (t) => {
  const memory = new AnswerMemory(MEGABYTE)
  const [first, second, third] = [reply(), reply(), reply()]
  memory.reserve(first!, 'a', MEGABYTE)
  const left = memory.reserve(second!, 'a', MEGABYTE)!
  const next = memory.reserve(third!, 'a', MEGABYTE)!
  second!.emit('close')
  t.equal(codeOf(await left.catch((err: unknown) => err)), 'RUN_ERR_READER_LEFT')
  end(first!)
  await next
  t.equal(memory.held, MEGABYTE)
  const gone = Object.assign(reply(), { destroyed: true })
  t.equal(
    codeOf(await memory.reserve(gone, 'a', MEGABYTE)!.catch((err: unknown) => err)),
    'RUN_ERR_READER_LEFT'
  )
})

void t.test('a client that does not read loses its place while others wait', async (t) => {
  const memory = new AnswerMemory(MEGABYTE, 20)
  const server = createServer(async (_request, response) => {
    await memory.reserve(response, 'a', MEGABYTE)
    response.writeHead(200)
    response.write('x'.repeat(30 * MEGABYTE))
    if (memory.held > 0 && reads++ > 0) response.end()
  })
  let reads = 0
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const [idle] = (await once(get({ port }), 'response')) as [IncomingMessage]
  const lost = once(idle, 'error')
  const [read] = (await once(get({ port }), 'response')) as [IncomingMessage]
  t.pass('the next one is answered')
  let bytes = 0
  for await (const chunk of read) bytes += (chunk as Buffer).length
  t.equal(bytes, 30 * MEGABYTE)
  idle.resume()
  await lost
})

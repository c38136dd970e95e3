import t from 'tap'
import { attackSockets, floodNamespaces } from '../bench/soak/sockets.ts'

// A short form of `npm run soak -- --only sockets`, which also checks the resident memory.
t.setTimeout(120_000)

const SOCKETS = 100
const MEGABYTE = 1_000_000

t.test(`${SOCKETS} sockets without a token cost at most 20 MB`, async (t) => {
  for (const attack of ['attachments', 'unfinished messages on a WebSocket that asked to poll']) {
    const { held } = await attackSockets(SOCKETS, attack)
    t.ok(held < 20 * MEGABYTE, `${attack}: ${(held / MEGABYTE).toFixed(1)} MB`)
  }
})

t.test('sockets that keep entering namespaces are disconnected by the limit', async (t) => {
  const { answers, left } = await floodNamespaces(20)
  t.ok(answers > 0 && answers <= 52, `${answers} answers`)
  t.equal(left, 0)
})

import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TokenMaker } from '../auth/token-maker.ts'

/** A server of a JSON Web Key Set, with the answer that a test puts on it. */
export interface KeyServer {
  readonly url: string
  keys: object[]
  /** How often it was asked. */
  fetches: number
  answer(response: ServerResponse): unknown
}

/** A public key as a JSON Web Key. */
export const toJwk = ({ publicKey }: TokenMaker, more: object = {}) => ({
  ...publicKey?.export({ format: 'jwk' }),
  ...more
})

/** Serves keys on a free port until the test ends. */
export async function serveKeys(
  t: { teardown(fn: () => unknown): unknown },
  ...keys: object[]
): Promise<KeyServer> {
  const server = createServer((_request, response) => {
    served.fetches++
    served.answer(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const served: KeyServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys?of=us`,
    keys,
    fetches: 0,
    answer: (response) =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: served.keys }))
  }
  return served
}

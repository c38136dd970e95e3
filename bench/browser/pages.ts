import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Pages to browse: a shop of 30 products with a search form, and `/large` with 10,000 elements. */
export async function servePages(): Promise<{ host: string; close(): void }> {
  const server: Server = createServer(({ url }, response) => {
    response.setHeader('content-type', 'text/html').end(url === '/large' ? LARGE : SHOP)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      server.close()
    }
  }
}

const item = (at: number) =>
  `<li><h2><a href="/item/${at}">Widget ${at}</a></h2><p>Made of steel and glass, in stock.</p><button>Add ${at}</button></li>`
const items = (count: number) => Array.from({ length: count }, (_, at) => item(at)).join('')
const SHOP = `<!doctype html><title>Shop</title><h1>Shop</h1>
<form><label>Search <input name="q"></label><label><input type="checkbox" name="new"> new</label>
<select aria-label="Sort"><option>name</option><option>price</option></select><button>Search</button></form>
<ul>${items(30)}</ul>`
const LARGE = `<!doctype html><title>Large</title><ul>${items(2_000)}</ul>`

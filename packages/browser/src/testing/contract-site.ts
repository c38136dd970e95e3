import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

const PAGES: Readonly<Record<string, string>> = {
  '/': `<title>Start</title><h1>Start</h1><a href="/form">Form</a> <a href="/form" target="_blank">In a tab</a>
    <button onclick="document.body.append('pressed')">Press</button>`,
  '/form': `<title>Form</title><form action="/sent" method="post">
    <label>Name <input name="name"></label> <label>Secret <input type="password" name="secret" value="hunter2"></label>
    <label><input type="checkbox" name="agree"> Agree</label>
    <label>Color <select name="color"><option>red</option><option value="b">blue</option></select></label>
    <button>Send</button></form>`,
  '/upload': `<title>Upload</title><input type="file" aria-label="Paper"
    onchange="this.files[0].text().then((text) => document.body.append(this.files[0].name + ': ' + text))">`,
  '/dialogs': `<title>Dialogs</title><button onclick="document.title = prompt('Your name?')">Ask</button>`,
  '/files': `<title>Files</title><a href="/file">File</a> <a href="/endless">Endless</a>`,
  '/busy': `<title>Busy</title><button onclick="while (true);">Work</button>`,
  '/popups': `<title>Popups</title><button onclick="for (let n = 0; n < 5; n++) window.open('/')">Open</button>`,
  '/long': `<title>Long</title>${Array.from({ length: 2_000 }, (_, n) => `<p>Line ${n} of many</p>`).join('')}`,
  '/storage': `<title>Storage</title><script>
    document.body.append('found ' + document.cookie + ' ' + localStorage.getItem('kept'))
    document.cookie = 'kept=yes; max-age=1000'; localStorage.setItem('kept', 'too')</script>`,
  '/elsewhere': `<title>Elsewhere</title><img src="http://refused.example/image.png">`
}

const answer: RequestListener = (request, reply) => {
  const page = PAGES[request.url!]
  const attachment = { 'content-disposition': 'attachment; filename="data.csv"', 'content-type': 'text/csv' }
  if (page !== undefined) reply.setHeader('content-type', 'text/html').end(`<!doctype html><body>${page}`)
  else if (request.url === '/file') reply.writeHead(200, attachment).end('a,b\n1,2\n')
  else if (request.url === '/endless') {
    reply.writeHead(200, attachment)
    const timer = setInterval(() => reply.write('0'.repeat(10_000)), 5)
    reply.on('close', () => clearInterval(timer))
  } else if (request.url === '/sent') {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () =>
      reply.setHeader('content-type', 'text/html').end(`<title>Sent</title><p>${body}</p>`)
    )
  } else if (request.url !== '/silent') reply.writeHead(404).end()
}

/** Serves the pages that the contract of browsers is about, on a loopback address. */
export async function serveContractSite(): Promise<{ origin: string; close(): void }> {
  const server = createServer(answer)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      server.closeAllConnections()
    }
  }
}

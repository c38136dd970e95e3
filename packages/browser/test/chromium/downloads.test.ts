import type { RequestListener } from 'node:http'
import t, { type Test } from 'tap'
import { chromium } from '@svc/browser'
import { needsChromium } from '../helpers/chromium.ts'
import { deskAt } from '../helpers/desk-at.ts'
import { useTemporaryFolder } from '../helpers/processes.ts'

const temporaryFiles = useTemporaryFolder(t)
const browser = chromium({ sandbox: false })
t.teardown(() => browser.close())

const LINKS = `<a href="/a.csv">Small</a> <a href="/endless.bin">Endless</a> <a href="/declared.bin">Declared</a>
  <a href="/broken.bin">Broken</a> <a download="data.txt" href="data:text/plain,hello">Data</a>
  <a href="/evil">Evil</a> <button onclick="for (let n = 0; n < 30; n++) save(n)">Many</button>
  <button onclick="save('x'.repeat(5_000_000))">Blob</button>
  <script>function save(text) {
    const link = document.createElement('a')
    link.href = URL.createObjectURL(new Blob([text])); link.download = 'blob.bin'; link.click()
  }</script>`

const serve: RequestListener = ({ url }, reply) => {
  const names: Record<string, string> = { '/evil': '..%2F..%2Fetc%2Fpass"wd\u202e.csv' }
  reply.setHeader(
    'content-disposition',
    `attachment; filename*=UTF-8''${encodeURIComponent(names[url!] ?? url!.slice(1))}`
  )
  reply.setHeader('content-type', 'application/octet-stream')
  if (url === '/declared.bin') reply.writeHead(200, { 'content-length': '1000000000' }).write('first bytes')
  else if (url === '/broken.bin') {
    reply.writeHead(200, { 'content-length': '1000' }).write('half', () => reply.destroy())
  } else if (url === '/endless.bin') {
    const timer = setInterval(() => reply.write('0'.repeat(100_000)), 2)
    reply.on('close', () => clearInterval(timer))
  } else reply.end('a,b\n')
}

const make = (t: Test, maxDownloadBytes?: number) =>
  deskAt(t, browser, LINKS, { other: serve, maxDownloadBytes })

t.test('a download is complete when its action is', needsChromium, async (t) => {
  const { desk, click, origin } = await make(t, 1_000)
  const { downloads, notices } = await click('Small')
  t.match(downloads, [{ filename: 'a.csv', size: 4, url: `${origin}/a.csv` }])
  t.same(notices, [])
  t.same((await click('Data')).downloads[0]?.filename, 'data.txt')
  t.same(
    (await desk.act({ action: 'press', key: 'Tab' }, new AbortController().signal)).downloads,
    [],
    'once'
  )
  await desk.close()
  t.same(
    temporaryFiles().filter((name) => name.startsWith('svc-downloads-')),
    [],
    'the files go with the desk'
  )
})

t.test('downloads are refused unless wanted', needsChromium, async (t) => {
  const { click } = await make(t)
  t.match(await click('Small'), { downloads: [], notices: ['The download of "a.csv" was refused'] })
})

for (const name of ['Endless', 'Declared', 'Blob'])
  t.test(`a download over the limit is cut: ${name}`, needsChromium, async (t) => {
    const { desk, click } = await make(t, 200_000)
    let { downloads, notices } = await click(name)
    t.same(downloads, [])
    // On a busy machine a large blob may begin once the page is quiet: then the next action has it.
    while (notices.length === 0) {
      ;({ downloads, notices } = await desk.act(
        { action: 'press', key: 'Tab' },
        new AbortController().signal
      ))
      t.same(downloads, [])
    }
    t.match(notices, [/^The download of "\w+\.bin" was refused: over 200000 bytes$/])
    t.match(await desk.look(), { text: /Small/ }, 'the page is still there')
  })

t.test('a download that breaks off is reported', needsChromium, async (t) => {
  const { click } = await make(t, 10_000)
  t.match(await click('Broken'), { downloads: [], notices: ['The download of "broken.bin" failed'] })
})

t.test('a page cannot choose a path, or save any number of files', needsChromium, async (t) => {
  const { click } = await make(t, 10_000)
  const [evil] = (await click('Evil')).downloads
  t.notMatch(evil!.filename, /[/\\]|\.\.$/)
  const { downloads } = await click('Many')
  t.ok(downloads.length <= 20)
})

import type { RequestListener } from 'node:http'
import t from 'tap'
import { chromium } from '@svc/browser'
import { needsChromium } from '../helpers/chromium.ts'
import { deskAt } from '../helpers/desk-at.ts'

const browser = chromium({ sandbox: false })
t.teardown(() => browser.close())

const attachment = { 'content-type': 'text/csv', 'content-disposition': 'attachment' }

t.test('downloads', needsChromium, async (t) => {
  t.test('of one desk are neither seen nor awaited by another', async (t) => {
    const held = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const other: RequestListener = (_request, reply) => {
      reply.writeHead(200, attachment).write('id\n')
      begun.resolve()
      void held.promise.then(() => reply.end('1\n'))
    }
    const options = { maxDownloadBytes: 1_000, timeout: { action: 20_000, navigation: 20_000 } }
    const first = await deskAt(t, browser, { '/': '<a href=/private.csv>Private</a>' }, { ...options, other })
    const second = await deskAt(t, browser, '<button>Look</button>', options)
    const link = await first.find('link "Private"')
    const button = await second.find('button "Look"')

    const downloading = first.act({ action: 'click', at: link })
    await begun.promise
    const meanwhile = await second.act({ action: 'click', at: button })
    held.resolve()
    const { downloads } = await downloading
    t.same(
      downloads.map(({ filename }) => filename),
      ['private.csv']
    )
    const after = await second.act({ action: 'click', at: button })
    for (const acted of [meanwhile, after]) t.strictSame(acted, { downloads: [], notices: [] })
  })

  t.test('of a frame of the same site, and of another', async (t) => {
    const pages = {
      '/': `<iframe src=/frame></iframe><script>document.write('<iframe src="http://localhost:' + location.port + '/other"></iframe>')</script>`,
      '/frame': '<a href=/same.csv>Same</a>',
      '/other': '<a href=/foreign.csv>Foreign</a>'
    }
    const other: RequestListener = (_request, reply) => reply.writeHead(200, attachment).end('id\n')
    const { act, find } = await deskAt(t, browser, pages, { maxDownloadBytes: 1_000, other })
    for (const [name, filename] of [
      ['Same', 'same.csv'],
      ['Foreign', 'foreign.csv']
    ]) {
      const { downloads } = await act({ action: 'click', at: await find(`link "${name}"`) })
      t.match(downloads, [{ filename }])
    }
  })

  t.test('in a new tab are not awaited as a page', async (t) => {
    const other: RequestListener = (_request, reply) => reply.writeHead(200, attachment).end('id\n')
    const page = '<a href=/report.csv target=_blank>Report</a>'
    // Longer than a test may take.
    const timeout = { action: 20_000, navigation: 600_000 }
    const { act, find } = await deskAt(t, browser, { '/': page }, { maxDownloadBytes: 1_000, other, timeout })
    const { downloads } = await act({ action: 'click', at: await find('link "Report"') })
    t.match(downloads, [{ filename: 'report.csv' }])
  })
})

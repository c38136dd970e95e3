import * as fc from 'fast-check'
import t from 'tap'
import { fileUrlsAt } from '../../src/files/file-urls.ts'

t.test('the URL of a file names it, whatever its id is', async (t) => {
  const path = ['agents', 'a/b', '\ud800']
  const urlOf = fileUrlsAt({ base: 'https://one.example/x', path, userId: 'ann\udfff' })
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (runId, fileId) => {
      const { pathname, search } = new URL(urlOf({ fileId, mimeType: 'image/png' }, runId)!)
      const [, , , , , run = '', file = ''] = pathname.split('/')
      // The parser of URLs removes segments that are dots.
      if ([runId, fileId].some((id) => /^(?:\.|%2e){1,2}$/i.test(id))) return
      t.equal(decodeURIComponent(run), runId.toWellFormed())
      t.equal(decodeURIComponent(file), fileId.toWellFormed())
      t.equal(search, '?userId=ann%EF%BF%BD')
    })
  )
})

t.test('a file elsewhere has its own URL', async (t) => {
  const urlOf = fileUrlsAt({ base: '', path: [] })
  t.equal(
    urlOf({ url: 'https://two.example/a.png', mimeType: 'image/png' }, 'r'),
    'https://two.example/a.png'
  )
  t.equal(urlOf({ fileId: 'f', url: 'https://two.example', mimeType: 'image/png' }, 'r'), '//r/f')
})

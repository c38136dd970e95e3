import t from 'tap'
import { Boundary, type Visit } from '../../src/visit/visit.ts'
import { writeReport } from '../../src/visit/serve-action.ts'

const lines = Array.from({ length: 50 }, (_, index) => `- button "Item ${index}" [ref=e${index}]`)

t.test('a page that changed a little is shown by its changes', async (t) => {
  const visit = { plan: { see: 'tree' }, boundary: new Boundary() } as unknown as Visit
  const report = (text: string, hash = text, url = 'https://shop.example/'): string => {
    const place = { url, title: 'Shop', tabs: [] }
    return writeReport(visit, { said: '', notices: [], place, look: { ...place, text, omitted: 0, hash } })
  }
  t.match(report(lines.join('\n')), 'begins: whole')
  const changed = lines.with(20, '- button "Other" [ref=e90]').join('\n')
  const changes = report(changed)
  t.match(changes, 'begins: changes')
  t.match(changes, '-- button "Item 20" [ref=e20]\n+- button "Other" [ref=e90]')
  t.notMatch(changes, 'Item 30')
  t.match(report(changed), 'The page has not changed.')
  t.match(report(changed, 'other'), 'Only parts of the page that are not shown have changed.')
  t.match(report('- heading "Other"'), 'begins: whole')
  t.match(report('- heading "Other"', 'other', 'https://shop.example/2'), 'begins: whole')
})

import { readFile } from 'node:fs/promises'
import { describeClients } from '@tools/a2a-clients/all-clients'
import t from 'tap'

t.test('docs/a2a.md says what each client can do, as the tests of the clients prove it', async (t) => {
  const text = await readFile(new URL('../../../../docs/a2a.md', import.meta.url), 'utf8')
  const [, section = ''] = text.split('## Which A2A clients work?\n')
  t.equal(section.slice(section.indexOf('| client')).trimEnd(), describeClients())
})

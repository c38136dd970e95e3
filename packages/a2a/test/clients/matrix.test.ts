import { readFile } from 'node:fs/promises'
import { describeClients } from '@tools/a2a-clients/all-clients'
import t from 'tap'

t.test('docs/a2a.md says what each client can do, as the tests of the clients prove it', async (t) => {
  const text = await readFile(new URL('../../../../docs/a2a.md', import.meta.url), 'utf8')
  const section = text.slice(text.indexOf('## Which A2A clients work?'))
  const end = section.indexOf('\n## ', 1)
  const table = section.slice(section.indexOf('| client'), end === -1 ? undefined : end)
  t.equal(table.trimEnd(), describeClients())
})

import { AgUiOptionsSchema } from '@svc/ag-ui'
import { optionNames, readReadme } from '@tools/wires/readme-tables'
import t from 'tap'

const readme = readReadme(import.meta.dirname)

t.test('the table of options is the schema', async (t) => {
  t.strictSame(readme.firstColumn('Options'), optionNames(AgUiOptionsSchema.properties))
})

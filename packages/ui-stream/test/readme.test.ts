import { UiStreamOptionsSchema } from '@svc/ui-stream'
import { optionNames, readReadme } from '@tools/wires/readme-tables'
import t from 'tap'
import { ChatMetadataSchema } from '../src/wire/chunks.ts'

const readme = readReadme(import.meta.dirname)

t.test('the table of options is the schema', async (t) => {
  t.strictSame(readme.firstColumn('Options'), optionNames(UiStreamOptionsSchema.properties))
})

t.test('all metadata of messages is documented', async (t) => {
  for (const name of Object.keys(ChatMetadataSchema.properties)) t.match(readme.text, `\`${name}\``, name)
})

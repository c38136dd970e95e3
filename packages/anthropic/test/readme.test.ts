import { errors, AnthropicOptionsSchema } from '@svc/anthropic'
import { optionNames, readReadme } from '@tools/wires/readme-tables'
import t from 'tap'

const readme = readReadme(import.meta.dirname)

t.test('the tables of the README have all options and all errors', async (t) => {
  t.same(readme.firstColumn('Options'), optionNames(AnthropicOptionsSchema.properties))
  t.same(readme.firstColumn('Errors'), Object.keys(errors).toSorted())
})

import { createContext } from '@svc/registry'
import type { Tool, ToolContext } from '@svc/runtime'
import t from 'tap'
import { parseSections } from '../../src/docs/sections.ts'
import { createTools } from '../../src/tools/create-tools.ts'

const tools = createTools(parseSections('docs/x.md', '# Runs\n\n## Cancel a run\n\nPOST to cancel.\n'))
const call = (name: string, args: object) => {
  const tool = tools.find((each) => each.name === name) as Tool
  t.strictSame(tool.validateInput(args), { value: args })
  return tool.execute(args as never, createContext() as unknown as ToolContext)
}

t.test('search, then read', async (t) => {
  const { results } = call('search_docs', { query: 'how to cancel' }) as { results: { section: string }[] }
  t.match(results, [{ section: 'docs/x.md#cancel-a-run', document: 'docs/x.md', coverage: 1 }])
  t.match(call('read_section', { section: results[0]!.section }), {
    heading: 'Cancel a run',
    text: 'POST to cancel.'
  })
  t.match(call('read_section', { section: 'docs/x.md#gone' }), { error: /no such section/ })
})

t.test('calculate reports what is wrong', async (t) => {
  t.match(call('calculate', { expression: '7' }), { value: '7' }, 'one digit is an expression')
  t.match(call('calculate', { expression: '6 * 7' }), { value: '42', exact: true })
  t.match(call('calculate', { expression: '1/0' }), { error: /division by zero/ })
})

t.test('arguments are checked', async (t) => {
  for (const tool of tools) t.hasOwnProp(tool.validateInput({ nothing: 1 }), 'fault', tool.name)
  t.equal(tools.length, 4)
})

import { Type } from '@sinclair/typebox'
import { weighWord, wordsOf } from '@svc/contract/stores'
import { RUN_ERR_TOOL_UNKNOWN } from '../errors.ts'
import { defineTool, type Tool } from './define-tool.ts'

/** The tools through which a model reaches the deferred ones. */
export const FIND_TOOLS = 'find_tools'
export const USE_TOOL = 'use_tool'

const MAX_FOUND = 5
const MAX_QUERY = 1_000
/** How much more a word of a name counts than one of a description. */
const NAME_WEIGHT = 3

/** Makes the two fixed tools that stand for the deferred ones in a prompt, whatever those are. */
export function toolsFor(deferred: readonly Tool[]): [find: Tool, use: Tool] {
  const byName = new Map(deferred.map((tool) => [tool.name, tool]))
  let index: ToolIndex | undefined
  const nearest = (query: string) => (index ??= new ToolIndex(deferred)).nearest(query)

  const find = defineTool({
    name: FIND_TOOLS,
    description: `Finds tools that are not listed here: the ${MAX_FOUND} that fit a query best, each with its name, description and input schema. Call them with ${USE_TOOL}.`,
    inputSchema: Type.Object(
      { query: Type.String({ maxLength: MAX_QUERY, description: 'Words for what a tool does' }) },
      { additionalProperties: false }
    ),
    idempotent: true,
    // Schemas of tools are no larger than the prompts that they would be in.
    maxOutputBytes: 2 ** 31,
    execute: ({ query }) => ({
      tools: nearest(query).map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))
    })
  })
  const use = defineTool({
    name: USE_TOOL,
    description: `Calls a tool that ${FIND_TOOLS} has found, with arguments that fit its input schema.`,
    inputSchema: Type.Object(
      {
        name: Type.String({ description: 'The name of the tool' }),
        args: Type.Object({}, { additionalProperties: true, description: 'Its arguments' })
      },
      { additionalProperties: false }
    ),
    approval: false,
    // A call that is repeated finds the outcome of the tool, or that it may have happened.
    idempotent: true,
    execute: () => undefined
  })
  return [
    find,
    Object.freeze({ ...use, forwards: ({ name, args }: UseArgs) => ({ tool: requireDeferred(name), args }) })
  ]

  function requireDeferred(name: string): Tool {
    const tool = byName.get(name)
    if (tool !== undefined) return tool
    const names = nearest(name).map((each) => each.name)
    const hint =
      names.length === 0 ? `find its name with ${FIND_TOOLS}` : `the nearest are ${names.join(', ')}`
    throw new RUN_ERR_TOOL_UNKNOWN(`"${name.slice(0, 64)}"; ${hint}`)
  }
}

interface UseArgs {
  readonly name: string
  readonly args: object
}

interface IndexedTool {
  readonly tool: Tool
  readonly name: ReadonlySet<string>
  readonly description: ReadonlySet<string>
}

/** The words of tools. */
class ToolIndex {
  readonly #tools: readonly IndexedTool[]
  readonly #having = new Map<string, number>()

  constructor(tools: readonly Tool[]) {
    this.#tools = tools.map((tool) => ({
      tool,
      name: wordsOfName(tool.name),
      description: wordsOf(tool.description)
    }))
    for (const { name, description } of this.#tools)
      for (const word of new Set([...name, ...description]))
        this.#having.set(word, (this.#having.get(word) ?? 0) + 1)
  }

  /** The tools that have words of a query, best first; of equal ones the first by name. */
  nearest(query: string): Tool[] {
    const words = [...wordsOfName(query)].flatMap((word) => {
      const having = this.#having.get(word)
      return having === undefined ? [] : [{ word, weight: weighWord(this.#tools.length, having) }]
    })
    const scored = this.#tools.map(({ tool, name, description }) => {
      let score = 0
      for (const { word, weight } of words) {
        if (name.has(word)) score += weight * NAME_WEIGHT
        if (description.has(word)) score += weight
      }
      return { tool, score }
    })
    return scored
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || (a.tool.name < b.tool.name ? -1 : 1))
      .slice(0, MAX_FOUND)
      .map(({ tool }) => tool)
  }
}

// `createInvoice` and `create_invoice` are about invoices.
function wordsOfName(text: string): Set<string> {
  return wordsOf(text.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2'))
}

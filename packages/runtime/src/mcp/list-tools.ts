import { RUN_ERR_MCP } from '../errors.ts'
import { messageOf } from '../json/tool-output.ts'
import type { McpTool } from './mcp-client.ts'
import type { McpRequests, ToolPage } from './mcp-requests.ts'

const MOST_TOOLS = 1_000
const MOST_PAGES = 100
const MOST_CHARACTERS = 8_388_608
/** Milliseconds for a page, and for all of them. */
const PAGE_TIMEOUT = 30_000
const LIST_TIMEOUT = 120_000

/**
 * All tools of a server, from every page.
 * @throws RUN_ERR_MCP when it does not answer, or its list is too large or has no end; `whyGone` is the cause
 */
export async function listTools(
  requests: McpRequests,
  whyGone: () => { cause?: Error }
): Promise<readonly McpTool[]> {
  const tools: McpTool[] = []
  const cursors = new Set<string>()
  const end = performance.now() + LIST_TIMEOUT
  let characters = 0
  for (let cursor: string | undefined; ;) {
    const left = end - performance.now()
    if (left <= 0) throw new RUN_ERR_MCP(`its tools cannot be listed within ${LIST_TIMEOUT} ms`)
    const page = await readPage(requests, cursor, Math.min(left, PAGE_TIMEOUT), whyGone)
    for (const tool of page.tools) {
      if (tools.push(tool) > MOST_TOOLS) throw new RUN_ERR_MCP(`it has more than ${MOST_TOOLS} tools`)
      characters += JSON.stringify(tool).length
      if (characters > MOST_CHARACTERS)
        throw new RUN_ERR_MCP(`its tools have more than ${MOST_CHARACTERS} characters`)
    }
    cursor = page.nextCursor
    if (cursor === undefined) return tools
    if (cursors.has(cursor)) throw new RUN_ERR_MCP('the list of its tools leads back to a page before')
    if (cursors.add(cursor).size >= MOST_PAGES)
      throw new RUN_ERR_MCP(`the list of its tools has more than ${MOST_PAGES} pages`)
  }
}

async function readPage(
  requests: McpRequests,
  cursor: string | undefined,
  timeout: number,
  whyGone: () => { cause?: Error }
): Promise<ToolPage> {
  try {
    return await requests.list(cursor, timeout)
  } catch (err) {
    throw new RUN_ERR_MCP(`its tools cannot be listed: ${messageOf(err, 'no answer')}`, whyGone())
  }
}

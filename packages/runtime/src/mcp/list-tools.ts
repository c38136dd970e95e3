import { RUN_ERR_MCP } from '../errors.ts'
import { messageOf } from '../json/tool-output.ts'
import type { ListedTool, McpRequests, ToolPage } from './mcp-requests.ts'

const MAX_TOOLS = 1_000
const MAX_PAGES = 100
const MAX_CHARACTERS = 8_388_608
// Milliseconds for one page, and for all pages.
const PAGE_TIMEOUT = 30_000
const LIST_TIMEOUT = 120_000

/**
 * Lists the tools of a server, page by page.
 * @throws RUN_ERR_MCP for no answer, one without a list, a list that is too large, or one that does not end; `causeOf` gives the cause
 */
export async function listTools(
  requests: McpRequests,
  causeOf: () => { cause?: Error }
): Promise<readonly ListedTool[]> {
  const tools: ListedTool[] = []
  const cursors = new Set<string>()
  const end = performance.now() + LIST_TIMEOUT
  let characters = 0
  for (let cursor: string | undefined; ;) {
    const left = end - performance.now()
    if (left <= 0) throw new RUN_ERR_MCP(`its tools cannot be listed within ${LIST_TIMEOUT} ms`)
    const page = await readPage(requests, cursor, Math.min(left, PAGE_TIMEOUT), causeOf)
    if (!Array.isArray(page.tools)) throw new RUN_ERR_MCP('its list of tools is no list')
    for (const tool of page.tools) {
      if (tools.push(tool) > MAX_TOOLS) throw new RUN_ERR_MCP(`it has more than ${MAX_TOOLS} tools`)
      characters += JSON.stringify(tool).length
      if (characters > MAX_CHARACTERS)
        throw new RUN_ERR_MCP(`its list of tools has more than ${MAX_CHARACTERS} characters`)
    }
    cursor = page.nextCursor
    if (cursor === undefined) return tools
    if (cursors.has(cursor)) throw new RUN_ERR_MCP('its list of tools repeats a cursor')
    if (cursors.add(cursor).size >= MAX_PAGES)
      throw new RUN_ERR_MCP(`its list of tools has more than ${MAX_PAGES} pages`)
  }
}

async function readPage(
  requests: McpRequests,
  cursor: string | undefined,
  timeout: number,
  causeOf: () => { cause?: Error }
): Promise<ToolPage> {
  try {
    return await requests.list(cursor, timeout)
  } catch (err) {
    throw new RUN_ERR_MCP(`its tools cannot be listed: ${messageOf(err, 'no answer')}`, causeOf())
  }
}

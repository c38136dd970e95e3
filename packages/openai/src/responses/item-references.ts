import { codeOf, type Principal } from '@svc/contract'
import { RUN_ERR_NOT_FOUND } from '@svc/contract/errors'
import { readPresent, requireRun } from '@svc/surface'
import { OPENAI_ERR_UNKNOWN_ITEM } from '../errors.ts'
import type { Surface } from '../surface.ts'
import { toInputItems } from './input-items.ts'
import { ResponseBuilder } from './response-builder.ts'
import type { InputItem, ResponseBody } from './response-schemas.ts'
import { BARE } from './run-items.ts'
import { isStored } from './start-run.ts'

// The ids of items, and of what a run asks for.
const FORMS = [/^[a-z]+_(.+)_\d{1,10}$/, /^(.+)\.\d{1,9}$/]
const ALL = { ...BARE, toolCalls: 'mcp_call' } as const

/**
 * The input of a request with the items that it refers to, each once: those of responses that the caller reaches, and of what these were
 * asked. One that a repeated step has made void is left out. A call of the service that lost its outcome gets it back, if its id is known:
 * the Agents SDK of OpenAI sends such calls.
 * @throws OPENAI_ERR_UNKNOWN_ITEM, RUN_ERR_STORE
 */
export async function resolveReferences(
  surface: Surface,
  input: ResponseBody['input'],
  principal: Principal
): Promise<ResponseBody['input']> {
  if (typeof input === 'string' || !input.some(isResolved)) return input
  const found = new Map<unknown, InputItem | undefined>()
  for (const [runId, ids] of groupByRun(input))
    for (const [id, item] of await readItems(surface, runId, ids, principal)) found.set(id, item)
  const given = new Set<unknown>()
  return input.flatMap((item, index) => {
    if (!isResolved(item)) return [item]
    const { id, type } = item
    if (!found.has(id)) {
      if (type === 'item_reference') throw unknownItem(id, index)
      return [item]
    }
    if (given.has(id)) return []
    given.add(id)
    return found.get(id) ?? []
  })
}

function isResolved({ type, output, error }: InputItem): boolean {
  return type === 'item_reference' || (type === 'mcp_call' && (output ?? error ?? null) === null)
}

function unknownItem(id: unknown, index: number): Error {
  const errors = [{ path: `input/${index}/id`, message: 'is not known' }]
  return Object.assign(new OPENAI_ERR_UNKNOWN_ITEM(String(id)), { errors })
}

function groupByRun(input: readonly InputItem[]): Map<string, Set<unknown>> {
  const groups = new Map<string, Set<unknown>>()
  for (const item of input) {
    if (!isResolved(item)) continue
    const id = String(item.id)
    const runId = FORMS.map((form) => form.exec(id)?.[1]).find((each) => each !== undefined)
    if (runId === undefined) continue
    const ids = groups.get(runId) ?? new Set()
    groups.set(runId, ids.add(id))
  }
  return groups
}

// The items of a run by their ids; undefined for one that is void. No items of a run that the caller does not reach.
async function readItems(
  surface: Surface,
  runId: string,
  ids: ReadonlySet<unknown>,
  principal: Principal
): Promise<Map<unknown, InputItem | undefined>> {
  const found = new Map<unknown, InputItem | undefined>()
  const run = await requireRun(surface, runId, principal).catch((err: unknown) => {
    if (codeOf(err) === codeOf(new RUN_ERR_NOT_FOUND(''))) return undefined
    throw err
  })
  if (run === undefined || !isStored(run)) return found
  const builder = new ResponseBuilder(ALL)
  const take = () => {
    for (const item of builder.output) if (ids.has(item.id)) found.set(item.id, item)
  }
  for await (const { part } of readPresent(surface.runs.stores, runId)) {
    for (const event of builder.add(part))
      if (event.type === 'response.output_item.done' && ids.has(event.item.id))
        found.set(event.item.id, undefined)
    for (const item of toInputItems(part, builder, runId)) if (ids.has(item.id)) found.set(item.id, item)
    if (builder.isOver) take()
  }
  take()
  return found
}

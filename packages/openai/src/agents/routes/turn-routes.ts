import type { Principal } from '@svc/contract'
import { RUN_ERR_NOT_FOUND } from '@svc/contract/errors'
import {
  findTurn,
  pageOfItems,
  reserveLargest,
  sendJson,
  turnsFrom,
  turnsOfSession,
  type Admit,
  type SessionTurn
} from '@svc/surface'
import type { FastifyInstance, RouteShorthandOptions } from 'fastify'
import { OPENAI_ERR_BAD_CURSOR } from '../../errors.ts'
import type { Surface } from '../../surface.ts'
import {
  runOfItem,
  runOfTurn,
  type SubagentTurns,
  type TurnContext,
  type TurnProjection
} from '../projection/turn-projection.ts'
import { toTurn } from '../wire/agent-objects.ts'
import { pageOf, toBadCursor, toPage, toPageQuery } from './pages.ts'
import { readTurn, requireContext } from './read-session.ts'
import {
  PageQuerySchema,
  REPLIES,
  SessionParamsSchema,
  SubagentParamsSchema,
  SubagentTurnParamsSchema,
  TurnParamsSchema,
  type PageQuery
} from './request-schemas.ts'

interface Params {
  readonly session_id: string
  readonly turn_id: string
  readonly subagent_id: string
}

/** What a list or an object is made of. */
interface Read {
  readonly context: TurnContext
  readonly caller: Principal
  readonly params: Params
  readonly query: PageQuery
  readonly admit: Admit
}

const SESSION = '/agents/sessions/:session_id'
const MEMBER = `${SESSION}/subagents/:subagent_id`

const tags = ['Turns']
const lists = <P>(operationId: string, summary: string, params: P, response: object) => ({
  operationId,
  summary,
  tags,
  params,
  querystring: PageQuerySchema,
  response
})

/** Items, turns and subagents of sessions. */
export function turnRoutes(scope: FastifyInstance, surface: Surface): void {
  const add = (
    path: string,
    schema: NonNullable<RouteShorthandOptions['schema']> & {
      operationId: string
      summary: string
      tags: string[]
    },
    read: (asked: Read) => Promise<unknown>
  ) =>
    scope.get<{ Params: Params; Querystring: PageQuery }>(
      path,
      { schema, exposeHeadRoute: false },
      async ({ params, query, caller }, reply) => {
        const context = await requireContext(surface, params.session_id, caller)
        const admit = reserveLargest(reply.raw, caller.sub)
        return sendJson(surface.replies, reply, await read({ context, caller, params, query, admit }))
      }
    )
  const { items, turn, turns, subagent, subagents } = REPLIES

  add(
    `${SESSION}/items`,
    lists('listItems', 'What was said and done', SessionParamsSchema, items),
    async (asked) => listItems(surface, asked)
  )
  add(
    `${SESSION}/turns`,
    lists('listTurns', 'The turns of a session', SessionParamsSchema, turns),
    async (asked) => listTurns(surface, asked)
  )
  add(
    `${SESSION}/turns/:turn_id`,
    { operationId: 'getTurn', summary: 'A turn', tags, params: TurnParamsSchema, response: turn },
    async ({ context, caller, params }) =>
      toTurn(context.session, await requireTurn(surface, context, params.turn_id, caller))
  )
  add(
    `${SESSION}/turns/:turn_id/items`,
    lists('listTurnItems', 'What was said and done in a turn', TurnParamsSchema, items),
    async ({ context, caller, params, query, admit }) => {
      const found = await requireTurn(surface, context, params.turn_id, caller)
      return pageOf((await readTurn(surface, context, found, admit)).itemsOf(), query)
    }
  )
  add(
    `${SESSION}/subagents`,
    lists('listSubagents', 'Members and steps', SessionParamsSchema, subagents),
    async (asked) => listSubagents(surface, asked)
  )
  add(
    MEMBER,
    {
      operationId: 'getSubagent',
      summary: 'A member or step',
      tags,
      params: SubagentParamsSchema,
      response: subagent
    },
    async (asked) => {
      const { turn: of, member } = await requireSubagent(surface, asked)
      return of.toSubagent(member)
    }
  )
  add(
    `${MEMBER}/items`,
    lists('listSubagentItems', 'What a member said and did', SubagentParamsSchema, items),
    async (asked) => {
      const { member } = await requireSubagent(surface, asked)
      return pageOf(member.items.items, asked.query)
    }
  )
  add(
    `${MEMBER}/turns`,
    lists('listSubagentTurns', 'The turns of a member', SubagentParamsSchema, turns),
    async (asked) => {
      const { member } = await requireSubagent(surface, asked)
      return pageOf(member.turns, asked.query)
    }
  )
  const ofMemberTurn = SubagentTurnParamsSchema
  add(
    `${MEMBER}/turns/:turn_id`,
    {
      operationId: 'getSubagentTurn',
      summary: 'A turn of a member',
      tags,
      params: ofMemberTurn,
      response: turn
    },
    async (asked) => requireMemberTurn(await requireSubagent(surface, asked), asked.params.turn_id)
  )
  add(
    `${MEMBER}/turns/:turn_id/items`,
    lists('listSubagentTurnItems', 'What a member said and did in a turn', ofMemberTurn, items),
    async (asked) => {
      const found = await requireSubagent(surface, asked)
      const { id } = requireMemberTurn(found, asked.params.turn_id)
      return pageOf(
        found.member.items.items.filter((item) => item.turn_id === id),
        asked.query
      )
    }
  )
}

async function listItems(surface: Surface, { context, caller, query, admit }: Read) {
  const { after, limit, order } = toPageQuery(query)
  const runId = after === undefined ? undefined : runOfItem(after)
  if (after !== undefined && runId === undefined) throw new OPENAI_ERR_BAD_CURSOR(after)
  const read = async (turn: SessionTurn) => (await readTurn(surface, context, turn, admit)).itemsOf()
  const place = runId === undefined ? undefined : { runId, id: after! }
  const turns = turnsAt(surface, context, caller, order, runId)
  const page = await pageOfItems(turns, read, { order, limit, after: place }).catch(toBadCursor(after))
  return toPage(page, after)
}

async function listTurns(surface: Surface, { context, caller, query }: Read) {
  const { after, limit, order } = toPageQuery(query)
  const { session } = context
  const read = async (turn: SessionTurn) => [toTurn(session, turn)]
  const turns = turnsOfSession(surface, session, caller, order, after)
  return toPage(await pageOfItems(turns, read, { order, limit }).catch(toBadCursor(after)), after)
}

async function listSubagents(surface: Surface, { context, caller, query, admit }: Read) {
  const { after, limit, order } = toPageQuery(query)
  const runId = after === undefined ? undefined : runOfItem(after)
  if (after !== undefined && runId === undefined) throw new OPENAI_ERR_BAD_CURSOR(after)
  const read = async (each: SessionTurn) => {
    const turn = await readTurn(surface, context, each, admit)
    return turn.subagents.map((member) => turn.toSubagent(member))
  }
  const place = runId === undefined ? undefined : { runId, id: after! }
  const turns = turnsAt(surface, context, caller, order, runId)
  const page = await pageOfItems(turns, read, { order, limit, after: place }).catch(toBadCursor(after))
  return toPage(page, after)
}

function turnsAt(
  surface: Surface,
  { session }: TurnContext,
  caller: Principal,
  order: 'asc' | 'desc',
  runId: string | undefined
) {
  return runId === undefined
    ? turnsOfSession(surface, session, caller, order)
    : turnsFrom(surface, session, caller, order, runId)
}

/** @throws RUN_ERR_NOT_FOUND */
async function requireTurn(surface: Surface, { session }: TurnContext, turnId: string, caller: Principal) {
  const turn = await findTurn(surface, session, turnId, caller)
  if (turn === undefined) throw new RUN_ERR_NOT_FOUND(turnId)
  return turn
}

interface FoundMember {
  readonly turn: TurnProjection
  readonly member: SubagentTurns
}

/** @throws RUN_ERR_NOT_FOUND */
async function requireSubagent(
  surface: Surface,
  { context, caller, params, admit }: Read
): Promise<FoundMember> {
  const { subagent_id: id } = params
  const found = await requireTurn(surface, context, runOfItem(id) ?? id, caller)
  const turn = await readTurn(surface, context, found, admit)
  const member = turn.subagents.find((each) => each.id === id)
  if (member === undefined) throw new RUN_ERR_NOT_FOUND(id)
  return { turn, member }
}

/** @throws RUN_ERR_NOT_FOUND */
function requireMemberTurn({ member }: FoundMember, turnId: string) {
  const turn = member.turns.find(({ id }) => id === turnId)
  if (turn === undefined || runOfTurn(turnId) === turnId) throw new RUN_ERR_NOT_FOUND(turnId)
  return turn
}
